import { runUntilSignal } from '@station/kit/lifecycle';
import { readFrontendConfig } from './config.ts';
import { startFrontend } from './frontend-server.ts';

const config = readFrontendConfig();
if (config) {
  process.exitCode = await runUntilSignal(async () => startFrontend(config));
} else {
  process.stderr.write('PORT and WEB_DIR must be set.\n');
  process.exitCode = 78;
}
