import { createHash } from 'node:crypto';
import { nodeDisk, readText } from '@station/kit/durable-files';
import { describeError } from '@station/kit/station-error';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { parse } from 'yaml';

/** One service of the stack's files. */
export type ServiceDefinition = {
  name: string;
  /** Reference or id of its image; null when neither the compose file nor the override has one. */
  image: string | null;
  env: Readonly<Record<string, string>>;
};

export type StackReading = { kind: 'ok'; services: ServiceDefinition[] } | { kind: 'failed'; reason: string };

const Scalar = Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]);
const variable = '^[A-Za-z_][A-Za-z0-9_]*$';

/** The used part of a compose file. The rest (ports, volumes, networks, …) does not apply to processes. */
const StackFile = Type.Object({
  services: Type.Record(
    Type.String({ pattern: '^[a-zA-Z0-9][a-zA-Z0-9._-]{0,62}$' }),
    Type.Union([
      Type.Null(),
      Type.Object({
        image: Type.Optional(Type.String()),
        environment: Type.Optional(
          Type.Union([
            Type.Record(Type.String({ pattern: variable }), Scalar),
            Type.Array(Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]*=' })),
          ]),
        ),
      }),
    ]),
  ),
});

/**
 * Reads the stack's compose file and the agent's override, which pins images. A missing override pins nothing.
 * A damaged one fails, so that no wrong release is started.
 */
export async function readStack(composeFile: string, overrideFile: string): Promise<StackReading> {
  const stack = await readFile(composeFile, 'the compose file');
  if (stack === null) return { kind: 'failed', reason: 'there is no compose file' };
  const override = (await readFile(overrideFile, 'the override file')) ?? { kind: 'ok', services: [] };
  if (stack.kind === 'failed') return stack;
  if (override.kind === 'failed') return override;
  const unknown = override.services.find(({ name }) => !stack.services.some((service) => service.name === name));
  if (unknown)
    return {
      kind: 'failed',
      reason: `the release has the service "${unknown.name}", which the compose file does not have`,
    };
  const services = stack.services.map((service) => {
    const pinned = override.services.find(({ name }) => name === service.name);
    return pinned
      ? { ...service, image: pinned.image ?? service.image, env: { ...service.env, ...pinned.env } }
      : service;
  });
  return { kind: 'ok', services };
}

/** A hash that changes whenever the service's process must be replaced. */
export function definitionHash(service: ServiceDefinition, imageId: string): string {
  const env = Object.entries(service.env).sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256')
    .update(JSON.stringify([service.name, imageId, env]))
    .digest('hex');
}

async function readFile(path: string, what: string): Promise<StackReading | null> {
  let body: unknown;
  try {
    if ((await nodeDisk.read(path)) === null) return null;
    body = parse((await readText(nodeDisk, path)) ?? '');
  } catch (error) {
    return { kind: 'failed', reason: `${what} cannot be read: ${describeError(error).split('\n')[0] ?? ''}` };
  }
  if (!Value.Check(StackFile, body)) return { kind: 'failed', reason: `${what} is not valid` };
  const services = Object.entries(body.services).map(([name, service]) => ({
    name,
    image: service?.image ?? null,
    env: readEnvironment(service?.environment),
  }));
  return { kind: 'ok', services };
}

type Environment = Record<string, string | number | boolean | null> | string[] | undefined;

function readEnvironment(environment: Environment): Record<string, string> {
  if (environment === undefined) return {};
  if (Array.isArray(environment)) {
    return Object.fromEntries(
      environment.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    );
  }
  return Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, String(value ?? '')]));
}
