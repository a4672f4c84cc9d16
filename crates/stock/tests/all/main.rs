//! All files form one program, since each program builds and links everything that it tests.

mod chains;
mod crash;
mod first_opening;
mod forget;
mod given_up;
mod lanes;
mod leases;
mod misused;
mod model;
mod modes;
mod one_sided;
mod parties;
mod probe;
mod remedies;
mod rollback;
mod stolen;
mod witnessed;
