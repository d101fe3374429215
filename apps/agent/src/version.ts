/** Version of the agent: the `X` of its release tag `agent-vX`. */
export const agentVersion = '0.1.0';
