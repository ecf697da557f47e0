/// As [`DIFFERENCES`], of filters over messages.
const MESSAGE_DIFFERENCES: &[Difference] = &[];
