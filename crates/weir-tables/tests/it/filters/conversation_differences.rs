/// As [`DIFFERENCES`], of filters over conversations.
const CONVERSATION_DIFFERENCES: &[Difference] = &[];
