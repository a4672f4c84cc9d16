//! The parts of a type's values, from which pages make forms.

use serde_json::{Value as Json, json};
use tacit_language::program::{TypeId, TypeKind, TypeTable};

/// The largest number of parts that a form has. Structs of structs may have many more.
const MAX_PARTS: usize = 256;

/// Returns the parts of values of a type: null if they are too many.
pub(crate) fn shape(types: &TypeTable, ty: TypeId) -> Json {
    let mut left = MAX_PARTS;
    part(types, ty, &mut left).unwrap_or(Json::Null)
}

fn part(types: &TypeTable, ty: TypeId, left: &mut usize) -> Option<Json> {
    *left = left.checked_sub(1)?;
    Some(match types.kind(ty) {
        TypeKind::Bool => json!({ "kind": "bool" }),
        TypeKind::Text(_) | TypeKind::OpenText => json!({ "kind": "text" }),
        TypeKind::Array(of, count) => {
            json!({ "kind": "list", "least": count, "most": count, "of": part(types, *of, left)? })
        }
        TypeKind::Table(of, most) => {
            json!({ "kind": "list", "least": 0, "most": most, "of": part(types, *of, left)? })
        }
        TypeKind::Tuple(parts) => {
            let parts = parts.iter().map(|ty| part(types, *ty, left));
            json!({ "kind": "tuple", "parts": parts.collect::<Option<Vec<_>>>()? })
        }
        TypeKind::Struct(number) => {
            let fields = types.struct_type(*number).fields.iter();
            let fields = fields.map(|(name, ty)| {
                let shape = part(types, *ty, left)?;
                Some(json!({ "name": name.as_str(), "type": types.name(*ty), "shape": shape }))
            });
            json!({ "kind": "struct", "fields": fields.collect::<Option<Vec<_>>>()? })
        }
        TypeKind::Enum(number) => {
            let variants = types.enum_type(*number).variants.iter();
            let names: Vec<&str> = variants.map(|name| name.as_str()).collect();
            json!({ "kind": "enum", "variants": names })
        }
        // Numbers and bytes, whose text is read as a program writes them.
        _ => json!({ "kind": "value" }),
    })
}
