{{- define "tacit.selector" -}}
app.kubernetes.io/name: tacit
app.kubernetes.io/instance: {{ .Values.name }}
{{- end }}

{{- define "tacit.labels" -}}
{{ include "tacit.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{/* The addresses at which peers reach each lane: a line of TOML for each. */}}
{{- define "tacit.homes" -}}
{{- $addresses := .Values.addresses }}
{{- if and $addresses (ne (len $addresses) (int .Values.lanes)) }}
{{- fail (printf "%d addresses are given for %v lanes" (len $addresses) .Values.lanes) }}
{{- end }}
{{- range $number := until (int .Values.lanes) }}
{{- $lane := printf "%s-%d" $.Values.name $number }}
{{- $address := printf "%s.%s-lanes.%s.svc:7000" $lane $.Values.name $.Release.Namespace }}
{{- if $addresses }}{{ $address = index $addresses $number }}{{ end }}
{{ $lane }} = {{ $address | toJson }}
{{- end }}
{{- end }}
