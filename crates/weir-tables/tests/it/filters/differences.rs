/// See the module.
const DIFFERENCES: &[Difference] = &[];
