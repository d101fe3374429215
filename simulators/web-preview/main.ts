import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createPreview } from './server.ts';

/** `node simulators/web-preview/main.ts [--port 8787]`: the built web app (`npm run build -w @station/web`) with a simulated station. */
const { values } = parseArgs({ options: { port: { type: 'string', default: '8787' } } });
const { app } = await createPreview({ root: join(import.meta.dirname, '../../dist/web') });
const address = await app.listen({ host: '127.0.0.1', port: Number(values.port) });
process.stdout.write(`${address}\nPOST ${address}/preview/<scene> changes the scene; scenes.ts has the names.\n`);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void app.close());
