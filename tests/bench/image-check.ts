/**
 * The agent's check of an image of real files, compared with `docker save`, which reads the same image: both stores of Debian 13's Docker, in turns. The
 * check runs in a program that is built as the agent is.
 */
import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { agentFileName, buildAgent } from '../../scripts/build-agent.ts';
import { unitEnvironment } from '../rig/agent-process.ts';
import { hostArch } from '../rig/base-roots.ts';
import { createDockerEngine, type DockerEngine, type ImageStore } from '../rig/docker-engine.ts';
import { packFolders, pushImage } from '../rig/image-push.ts';
import { run } from '../rig/program.ts';
import { createRegistry } from '../rig/registry.ts';
import { createWorkspace, type Workspace } from '../rig/workspace.ts';
import { median, round } from './load/statistics.ts';

const goal = 3;
const { values } = parseArgs({ options: { rounds: { type: 'string', default: '3' } } });
const rounds = Number(values.rounds);
/** Programs and small files, below `/usr`. */
const layers = [['sbin'], ['share/locale', 'share/doc', 'share/perl']];

type Figures = { seconds: number; processorSeconds: number };

/** Files are read from the disk, as after a boot. */
const forgetFiles = (): Promise<void> => writeFile('/proc/sys/vm/drop_caches', '1');

async function time(action: () => Promise<unknown>): Promise<number> {
  await run('sync', []);
  await forgetFiles();
  const started = performance.now();
  await action();
  return (performance.now() - started) / 1000;
}

const read = ({ env }: DockerEngine, command: string): Promise<string> =>
  run('sh', ['-c', `${command} >/dev/null`], { env });

async function buildCheck(workspace: Workspace): Promise<string> {
  const output = await workspace.subfolder('check');
  await buildAgent({ entry: 'tests/bench/load/image-check-agent.ts', output, arch: hostArch, version: null });
  return join(output, agentFileName(hostArch));
}

/** @returns a function that checks the image once. */
async function startCheck(engine: DockerEngine, project: string, program: string, image: string) {
  const child = spawn(program, {
    env: {
      ...(await unitEnvironment()),
      ...engine.env,
      DOCKER_SOCKET: engine.socketPath,
      PROJECT: project,
      IMAGE: image,
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    check: async (): Promise<{ processorMs: number }> => {
      child.stdin.write('\n');
      const { value } = await lines.next();
      if (value === undefined) throw new Error('the check has failed');
      return JSON.parse(value) as { processorMs: number };
    },
    [Symbol.dispose]: () => void child.kill(),
  };
}

async function measure(store: ImageStore, workspace: Workspace, program: string, reference: string) {
  await using engine = await createDockerEngine(workspace, { store, name: store });
  await engine.docker('pull', '--quiet', reference);
  const image = await engine.docker('image', 'inspect', '--format', '{{.Id}}', reference);
  const project = await workspace.subfolder(`${store}-project`);
  await writeFile(join(project, 'compose.yml'), `name: station\nservices:\n  backend:\n    image: ${reference}\n`);
  using checking = await startCheck(engine, project, program, image);
  // The pin of the image stays, as on a station.
  await checking.check();
  const pin = await engine.docker('ps', '--all', '--quiet');
  const checks: Figures[] = [];
  const saves: number[] = [];
  const exports: number[] = [];
  for (let turn = 0; turn < rounds; turn += 1) {
    let processorSeconds = 0;
    const seconds = await time(async () => (processorSeconds = (await checking.check()).processorMs / 1000));
    checks.push({ seconds, processorSeconds });
    saves.push(await time(() => read(engine, `docker save ${image}`)));
    // The graph driver keeps the layers of an exported container, and the check exports none there.
    if (store === 'containerd') exports.push(await time(() => read(engine, `docker export ${pin}`)));
  }
  const seconds = median(checks.map((one) => one.seconds));
  const saved = median(saves);
  const found = {
    store,
    checkSeconds: round(seconds),
    agentProcessorSeconds: round(median(checks.map((one) => one.processorSeconds))),
    saveSeconds: round(saved),
    exportSeconds: exports.length === 0 ? null : round(median(exports)),
    ratio: round(seconds / saved),
  };
  process.stdout.write(`${JSON.stringify({ ...found, checks, saves, exports })}\n`);
  return found;
}

async function main(): Promise<boolean> {
  await using workspace = await createWorkspace();
  const registry = await createRegistry(workspace, {});
  const packed = [];
  for (const names of layers) packed.push(await packFolders('/usr', names));
  await pushImage(registry, { repository: 'station/real', tag: '1' }, { layers: packed, config: { Cmd: ['/none'] } });
  const gigabytes = packed.reduce((sum, { unpackedBytes }) => sum + unpackedBytes, 0) / 1e9;
  const program = await buildCheck(workspace);
  const stores = [];
  for (const store of ['containerd', 'overlay2'] as const) {
    stores.push(await measure(store, workspace, program, `${registry.address}/station/real:1`));
  }
  const ratio = Math.max(...stores.map((one) => one.ratio));
  const slowest = Math.max(...stores.map(({ checkSeconds }) => checkSeconds));
  const common = { bench: 'image-check', value: round(slowest / gigabytes), unit: 's/GB', ratio, goal };
  process.stdout.write(`${JSON.stringify({ ...common, ok: ratio <= goal, gigabytes: round(gigabytes), stores })}\n`);
  return ratio <= goal;
}

process.exitCode = (await main()) ? 0 : 1;
