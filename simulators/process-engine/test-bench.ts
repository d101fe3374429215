import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { blobPath, descriptionPath, type ProcessImage } from './process-image.ts';
import { createProcessEngine, type ProcessEngine } from './process-engine.ts';

/** For tests: a folder with a registry, a compose file and an engine. Disposing it stops and removes everything. */
export type TestBench = AsyncDisposable & {
  folder: string;
  registryFolder: string;
  /** Publishes an image (by default one that runs its first file) and returns its id. */
  publish(reference: string, image: TestImage): Promise<string>;
  /** Writes the compose file. */
  writeStack(services: Record<string, { image?: string; environment?: Record<string, string> }>): Promise<void>;
  /** Writes the override as the agent does: service → image id. */
  pin(imageIds: Record<string, string>): Promise<void>;
  /** Opens another engine on the same folder, like a restarted agent. Disposed with the bench. */
  openEngine(registry?: URL): Promise<ProcessEngine>;
};

type TestImage = {
  args?: string[];
  env?: Record<string, string>;
  files: Record<string, string | Uint8Array>;
  /** The size in the description of each file; default: the real one. */
  announcedBytes?: number;
};

/** A service that answers every request on PORT with VERSION, and reports what it received. */
export const httpService = `
import { createServer } from 'node:http';
const server = createServer((request, response) => {
  response.end(JSON.stringify({ version: process.env.VERSION, pid: process.pid, env: process.env }));
});
server.listen(Number(process.env.PORT), '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
`;

/** @param overrideName path of the override in the folder of the bench. */
export async function createTestBench(overrideName = 'override.yml'): Promise<TestBench> {
  const folder = await mkdtemp(join(tmpdir(), 'station-process-engine-'));
  const registryFolder = join(folder, 'registry');
  await mkdir(registryFolder);
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const owned = stack.move();
  return {
    folder,
    registryFolder,
    publish: (reference, image) => publish(registryFolder, reference, image),
    writeStack: (services) => writeFile(join(folder, 'docker-compose.yml'), JSON.stringify({ services })),
    pin: (imageIds) => {
      const services = Object.fromEntries(Object.entries(imageIds).map(([name, image]) => [name, { image }]));
      return writeFile(join(folder, overrideName), JSON.stringify({ services }));
    },
    openEngine: async (registry = pathToFileURL(registryFolder)) =>
      owned.use(
        await createProcessEngine({
          directory: join(folder, 'store'),
          registry,
          composeFile: join(folder, 'docker-compose.yml'),
          overrideFile: join(folder, overrideName),
        }),
      ),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function publish(registry: string, reference: string, image: TestImage): Promise<string> {
  const files: ProcessImage['files'] = [];
  for (const [name, content] of Object.entries(image.files)) {
    const bytes = Buffer.from(content);
    const digest = await put(registry, bytes);
    files.push({ name, digest, size: image.announcedBytes ?? bytes.length });
  }
  const { args = [Object.keys(image.files)[0] ?? ''], env = {} } = image;
  const description = Buffer.from(JSON.stringify({ command: 'node', args, env, files } satisfies ProcessImage));
  const [name = '', tag = ''] = reference.split(':');
  await mkdir(join(registry, dirname(descriptionPath(name, tag))), { recursive: true });
  await writeFile(join(registry, descriptionPath(name, tag)), description);
  return put(registry, description);
}

async function put(registry: string, bytes: Uint8Array): Promise<string> {
  const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  await mkdir(join(registry, 'blobs'), { recursive: true });
  await writeFile(join(registry, blobPath(digest)), bytes);
  return digest;
}

/** Waits up to ten seconds until `probe` returns a value that is not null. */
export async function eventually<T>(what: string, probe: () => Promise<T | null> | T | null): Promise<T> {
  const deadline = performance.now() + 60_000;
  for (;;) {
    const value = await probe();
    if (value !== null) return value;
    if (performance.now() > deadline) throw new Error(`timed out: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Whether a process runs. A zombie (state Z of proc(5)) does not. */
export async function isAlive(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  return stat !== null && !/^\d+ \(.*\) Z /s.test(stat);
}
