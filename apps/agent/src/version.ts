/** Version of the agent: the `X` of its release tag `agent-vX`. A build with `--version` replaces this file. */
export const agentVersion: string = '0.1.0';
