// The files that are generated from declarations, and how.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { format } from 'oxfmt';
import { agentVariables } from '../apps/agent/src/variables.ts';
import { backendVariables } from '../apps/backend/src/variables.ts';
import { renderExample, renderTables } from '../packages/kit/src/env-config.ts';
import { withShellRules } from './shell-rules.ts';
import { stackVariables } from './stack-variables.ts';

export const root = join(import.meta.dirname, '..');

const installer = join(root, 'deploy/install.sh');

/** Path from the repository's root → content. */
export async function generateFiles(): Promise<Record<string, string>> {
  return {
    'apps/agent/.env.example': renderExample(agentHeading, agentVariables),
    'deploy/.env.example': renderExample(stackHeading, stackVariables),
    'deploy/install.sh': withShellRules(await readFile(installer, 'utf8'), agentVariables, stackVariables),
    'docs/configuration.md': await configurationPage(),
  };
}

const agentHeading =
  'Environment file of the agent. Copy it to `.env` next to the executable, mode 600: it holds secrets. Variables of the process win over it.';
const stackHeading =
  'Environment file of the stack. Copy it to `.env` next to docker-compose.yml, mode 600: it holds secrets. The agent has an environment file of its own.';

async function configurationPage(): Promise<string> {
  const text = `<!-- Written by npm run generate: edit the declarations, not this file. -->

# Configuration

All variables are declared in \`apps/agent/src/variables.ts\`, \`apps/backend/src/variables.ts\` and \`scripts/stack-variables.ts\`.
An empty variable counts as unset. A program with a wrong configuration ends with exit code 78 and one log line \`config_invalid\`
that lists every problem. Secret values are never logged.

- The agent reads \`.env\` next to its executable ([example](../apps/agent/.env.example)) and its process environment, which wins.
- The stack reads \`.env\` next to \`docker-compose.yml\` ([example](../deploy/.env.example)), which passes the variables of the backend on.

## Agent

${renderTables(agentVariables)}

## Stack

${renderTables(onlyStack())}

## Backend

${renderTables(backendVariables)}
`;
  return (await format('configuration.md', text)).code;
}

/** The variables of the backend have their own chapter. */
const onlyStack = (): typeof stackVariables =>
  Object.fromEntries(
    Object.entries(stackVariables).filter(
      ([name]) => !(name in backendVariables) || ['STATION_VERSION', 'MQTT_PORT', 'MQTT_PASSWORD'].includes(name),
    ),
  );
