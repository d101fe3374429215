/**
 * The agent's check of one image, for a program that is built as the agent is. The environment says where Docker and the image are. It checks once for
 * each line of its input, and prints how long that took: `{ ms, processorMs }`.
 */
import { createInterface } from 'node:readline';
import { adapterOn } from '../../e2e/update/engine-of.ts';

const { DOCKER_SOCKET: socketPath = '', PROJECT: folder = '', IMAGE: image = '', PATH = '' } = process.env;
const engine = { socketPath, containerdSocket: '', env: { PATH, HOME: folder, ...pickDockerConfig() } };
const { signal } = new AbortController();

function pickDockerConfig(): Record<string, string> {
  const { DOCKER_CONFIG } = process.env;
  return DOCKER_CONFIG === undefined ? {} : { DOCKER_CONFIG };
}

using adapter = adapterOn(engine, { folder, composeFile: 'compose.yml', workFolder: folder });
for await (const _ of createInterface({ input: process.stdin })) {
  const started = performance.now();
  const before = process.cpuUsage();
  const found = await adapter.checkImages([image], { isIdle: false, signal });
  const { user, system } = process.cpuUsage(before);
  if (found.get(image) !== 'whole') throw new Error(`the image is ${found.get(image) ?? 'not checked'}`);
  process.stdout.write(`${JSON.stringify({ ms: performance.now() - started, processorMs: (user + system) / 1000 })}\n`);
}
