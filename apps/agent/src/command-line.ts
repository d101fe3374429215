import { dirname } from 'node:path';
import { systemClock } from '@station/kit/clock';
import { useOutgoingProxy } from '@station/kit/outgoing-proxy';
import { plainJson, plainText } from '@station/protocol/plain-text';
import { nodeDisk } from '@station/kit/durable-files';
import { exitCodeOf, renderReport } from '@station/kit/doctor-decide';
import { createRunningAgent } from './commands/adapters/agent-client.ts';
import { type BackendContainer, readBackendReport, readSetupCode } from './commands/adapters/backend-container.ts';
import { askRunningAgent, type CommandName } from './commands/commands.ts';
import { type Config, loadConfig } from './config.ts';
import { readKeptCode } from './portal/station-code.ts';
import { environmentFile, examineStation } from './examine-station.ts';
import { exitConfig, runAgent } from './run-agent.ts';
import { agentVersion } from './version.ts';

/** Exit code of wrong arguments (sysexits.h, EX_USAGE). */
const exitUsage = 64;

const help = `Usage: station-agent [COMMAND] [--json]

Without a command the agent runs, as its service starts it. Its configuration is the file .env beside the executable.

Commands, as root; all but code can print objects for programs (--json):
  status            shows what runs, what is under way and what is wrong
  check             asks the update server for releases and firmware now
  update [VERSION]  installs the latest release, or this one, and waits for the result
  rollback          goes back to the release before, and waits for the result
  doctor            checks this station and changes nothing. Exit code 0: all is well, 1: warnings, 2: faults
  code              prints the code of the station and its hotspot
  --version         prints the version
  --help            prints this text
Exit code of the first four: 0: it is so, 1: it failed or was refused, 69: the agent does not answer.
`;

const commands: ReadonlySet<string> = new Set<CommandName>(['status', 'check', 'update', 'rollback']);
const isCommand = (name: string): name is CommandName => commands.has(name);

/**
 * Runs what the arguments ask for.
 * @param directory folder of the executable, where `.env` is.
 * @returns the exit code of the process.
 */
export async function runCommandLine(
  args: readonly string[],
  directory: string = dirname(process.execPath),
): Promise<number> {
  const [command, ...more] = args;
  if (command === undefined) {
    // In the lists of ps, top and ss, which would show the first thread of Node.
    process.title = 'station-agent';
    return runAgent();
  }
  if (more.length === 0 && command === '--version') return print(`${agentVersion}\n`);
  if (more.length === 0 && (command === '--help' || command === '-h')) return print(help);
  if (more.length === 0 && command === 'code') return printCode(directory);
  if (command === 'doctor' && more.every((option) => option === '--json')) return examine(directory, more.length > 0);
  const isJson = more.at(-1) === '--json';
  const [version = null, ...rest] = isJson ? more.slice(0, -1) : more;
  const takes = version === null || (command === 'update' && !version.startsWith('-'));
  if (isCommand(command) && takes && rest.length === 0) return askAgent(command, { directory, version, isJson });
  process.stderr.write(`station-agent: unknown arguments: ${args.join(' ')}\n\n${help}`);
  return exitUsage;
}

function print(text: string): number {
  process.stdout.write(text);
  return 0;
}

async function askAgent(
  command: CommandName,
  { directory, version, isJson }: { directory: string; version: string | null; isJson: boolean },
): Promise<number> {
  const reading = await loadConfig({ directory });
  if (reading.kind === 'invalid') return sayInvalid(reading.problems);
  const agent = createRunningAgent(reading.config.api);
  return askRunningAgent(command, version, { agent, out: process.stdout, errors: process.stderr, isJson });
}

function sayInvalid(problems: readonly string[]): number {
  process.stderr.write(`station-agent: ${problems.join('; ')}\n`);
  return exitConfig;
}

async function printCode(directory: string): Promise<number> {
  const reading = await loadConfig({ directory });
  if (reading.kind === 'invalid') return sayInvalid(reading.problems);
  const { config } = reading;
  const code = config.stationCode ?? (await askSetupCode(config));
  const { ssid, password } = config.wifi.hotspot;
  print(`Hotspot:  ${ssid}${password === null ? ' (open, without a password)' : `\nPassword: ${password}`}\n`);
  if (code !== null) print(`Code:     ${code}\n`);
  const pageCode = config.stationCode === null && password === null ? await readPageCode(config) : null;
  if (pageCode !== null) print(`Code of the Wi-Fi setup page: ${pageCode}\n`);
  if (code !== null || pageCode !== null) return 0;
  process.stderr.write(
    'station-agent: STATION_CODE is not set, and the backend has no set-up code: the station has its owner, or the backend does not run\n',
  );
  return 1;
}

/** The report of the agent, then that of the backend from inside its container. */
async function examine(directory: string, isJson: boolean): Promise<number> {
  const reading = await loadConfig({ directory });
  if (reading.kind === 'invalid') return sayInvalid(reading.problems);
  const { config, warnings } = reading;
  useOutgoingProxy(config.proxy);
  const agent = await examineStation({ config, warnings, envFile: environmentFile(directory), clock: systemClock });
  if (!isJson) print(`${renderReport(agent)}\n`);
  const found = agent.checks.flatMap(({ findings }) => findings.map(({ code }) => code));
  const backend = await readBackendReport(backendContainer(config), found.includes('engine_unreachable'));
  const report = 'report' in backend ? backend.report : null;
  if (isJson) print(`${plainJson(JSON.stringify({ agent, backend: report }))}\n`);
  else {
    print(
      'failure' in backend
        ? `The backend could not be asked: ${plainText(backend.failure)}\n`
        : renderReport(backend.report),
    );
    print(wayBack(config));
  }
  return exitCodeOf([agent.status, report?.status ?? 'ok']);
}

/** Whoever can log in here is the owner of the machine. */
const wayBack = ({ stack }: Config): string =>
  `\nThe owner cannot log in? A new password: docker exec ${stack.backendContainer} node /app/station-backend.mjs reset-owner\n`;

/** The code that the agent made for its open hotspot; the backend made another one for the first account. */
const readPageCode = ({ dataDir }: Config): Promise<string | null> =>
  readKeptCode({ disk: nodeDisk, dataDir }).catch(() => null);

/** The code that the backend generated, as long as there is no account. */
async function askSetupCode(config: Config): Promise<string | null> {
  const answer = await readSetupCode(backendContainer(config));
  if ('code' in answer) return answer.code;
  process.stderr.write(`station-agent: the backend cannot be asked for its code: ${answer.failure}\n`);
  return null;
}

const backendContainer = ({ stack, childEnv }: Config): BackendContainer => ({
  program: stack.dockerProgram,
  name: stack.backendContainer,
  env: { ...childEnv, DOCKER_HOST: `unix://${stack.dockerSocket}` },
});
