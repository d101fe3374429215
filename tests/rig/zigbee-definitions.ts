import { readdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { installPackages } from './npm-packages.ts';

/** What a Zigbee2MQTT of this release announces of each device that it knows: the `definition` of `bridge/devices`. */
export type ZigbeeDefinition = { model: string; vendor: string; description: string; exposes: readonly unknown[] };

const library = 'zigbee-herdsman-converters';
const version = '26.112.0';

type Converters = { prepareDefinition(definition: unknown): ZigbeeDefinition & { exposes: unknown } };

/** Fetches the library once, into the cache, without its programs for radios. Reading it takes some ten seconds. */
export async function readZigbeeDefinitions(): Promise<ZigbeeDefinition[]> {
  const folder = await installPackages({ [library]: version });
  const load = createRequire(join(folder, 'package.json')) as (name: string) => unknown;
  const { prepareDefinition } = load(library) as Converters;
  const devices = join(folder, 'node_modules', library, 'dist/devices');
  const files = (await readdir(devices)).filter((name) => name.endsWith('.js')).sort();
  return files.flatMap((file) => {
    const { definitions = [] } = load(join(devices, file)) as { definitions?: readonly unknown[] };
    return definitions.map((definition) => announced(prepareDefinition(definition)));
  });
}

/** Some exposes depend on the device; without one they are those of every device of the model. */
function announced({
  model,
  vendor,
  description,
  exposes,
}: ReturnType<Converters['prepareDefinition']>): ZigbeeDefinition {
  const given =
    typeof exposes === 'function'
      ? (exposes as (device: object, options: object) => unknown)({ isDummyDevice: true }, {})
      : exposes;
  return { model, vendor, description, exposes: JSON.parse(JSON.stringify(given)) as unknown[] };
}
