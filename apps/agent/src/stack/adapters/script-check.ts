import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** A script as a page loads it. */
export type PageScript = {
  /** The address that it was asked for under, which is its name for other scripts. */
  url: string;
  /** The address that answered, from which its imports count. */
  base: string;
  text: string;
  isModule: boolean;
};

const limitMs = 20_000;

/**
 * Compiles the scripts, and links the modules with those that they import, as a browser does before anything runs. Nothing of them runs.
 * A module that imports something else than these is not linked.
 * @returns the address of a script that no browser could start; null: none, or it cannot be told.
 * @throws the reason of the signal.
 */
export async function findBrokenScript(scripts: readonly PageScript[], signal: AbortSignal): Promise<string | null> {
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(limitMs)]);
  // A thread of its own: the parser may take long, and a script that is too much for it ends nothing else.
  const options = {
    eval: true,
    env: {},
    execArgv: ['--experimental-vm-modules', '--no-warnings'],
    workerData: scripts,
  };
  const worker = new Worker(program, { ...options, resourceLimits: { maxOldGenerationSizeMb: 64 } });
  try {
    const [broken] = (await once(worker, 'message', { signal: bounded })) as [string | null];
    return broken;
  } catch {
    signal.throwIfAborted();
    return null;
  } finally {
    await worker.terminate();
  }
}

/** A text, because an executable has no file beside it. Only a `SyntaxError` is a fault of the script: it stands for both steps. */
const program = `
const { parentPort, workerData } = require('node:worker_threads');
const { Script, SourceTextModule } = require('node:vm');

const modules = new Map();
let broken = null;
function attempt(url, work) {
  try {
    work();
  } catch (error) {
    if (error instanceof SyntaxError) broken ??= url;
  }
}
for (const { url, base, text, isModule } of workerData)
  attempt(url, () => {
    if (isModule) modules.set(url, { base, module: new SourceTextModule(text) });
    else new Script(text);
  });
function importedBy({ base, module }) {
  return module.moduleRequests.map(({ specifier, attributes }) => {
    const isAddress = /^([.]{0,2}[/]|https?:)/.test(specifier) && Object.keys(attributes).length === 0;
    return isAddress ? modules.get(URL.parse(specifier, base)?.href)?.module : undefined;
  });
}
for (const [url, one] of modules) {
  const imported = importedBy(one);
  if (!imported.includes(undefined)) attempt(url, () => one.module.linkRequests(imported));
}
for (const [url, { module }] of modules) attempt(url, () => module.instantiate());
parentPort.postMessage(broken);
`;
