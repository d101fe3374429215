// npm run release -- vX.Y.Z|agent-vX.Y.Z [options]: makes a release. docs/releasing.md says how to publish it.
import { checkReadiness, latestStackTag, readOptions, Refusal } from './options.ts';
import { createProgress } from './progress.ts';
import { makeRelease } from './release.ts';

try {
  const options = readOptions(process.argv.slice(2), await latestStackTag());
  await checkReadiness(options);
  const env = {
    password: process.env['MINISIGN_PASSWORD'] || null,
    registriesConf: process.env['CONTAINERS_REGISTRIES_CONF'] ?? null,
  };
  for (const line of await makeRelease(options, env, createProgress(process.stdout))) process.stderr.write(`${line}\n`);
} catch (error) {
  process.stderr.write(`release: ${error instanceof Refusal ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
