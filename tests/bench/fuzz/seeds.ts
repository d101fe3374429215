import { pick } from './pick.ts';
import type { Random } from '../../faults/mutate.ts';

/** A request as the backend's OpenAPI description defines it. */
export type Operation = {
  method: string;
  path: string;
  query: { name: string; schema: JsonSchema }[];
  body: JsonSchema | null;
};

type JsonSchema = {
  type?: string;
  enum?: unknown[];
  const?: unknown;
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  allOf?: JsonSchema[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  items?: JsonSchema;
  minItems?: number;
  format?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
};

type OpenApi = {
  paths: Record<
    string,
    Record<
      string,
      {
        parameters?: { name: string; in: string; schema: JsonSchema }[];
        requestBody?: { content: Record<string, { schema: JsonSchema }> };
      }
    >
  >;
};

/** It ends the process, as it should (`apps/backend/src/main.test.ts`); here an end is a crash. */
const restartPath = '/api/agent/restart';
const methods = ['get', 'post', 'put', 'patch', 'delete', 'head'];

/** @throws when the description has no requests. */
export async function readOperations(url: string): Promise<Operation[]> {
  const { paths } = (await (await fetch(`${url}/api/openapi.json`)).json()) as OpenApi;
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, { parameters = [], requestBody }]) => {
      if (!methods.includes(method) || path === restartPath) return [];
      const query = parameters.filter((one) => one.in === 'query').map(({ name, schema }) => ({ name, schema }));
      const body = requestBody?.content['application/json']?.schema ?? null;
      return [{ method: method.toUpperCase(), path, query, body }];
    }),
  );
  if (operations.length === 0) throw new Error('The OpenAPI description has no operations');
  return operations;
}

/** A value that should match the schema. */
export function exampleOf(schema: JsonSchema, random: Random, ids: readonly string[]): unknown {
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return exampleOf(pick(random, choices), random, ids);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return pick(random, schema.enum);
  if (schema.allOf !== undefined) {
    return Object.assign({}, ...schema.allOf.map((part) => exampleOf(part, random, ids))) as unknown;
  }
  switch (schema.type) {
    case 'object':
      return Object.fromEntries(
        Object.entries(schema.properties ?? {})
          .filter(([name]) => schema.required?.includes(name) === true || random() < 0.6)
          .map(([name, part]) => [name, exampleOf(part, random, ids)]),
      );
    case 'array':
      return Array.from({ length: schema.minItems ?? Math.floor(random() * 3) }, () =>
        exampleOf(schema.items ?? {}, random, ids),
      );
    case 'string':
      return textOf(schema, random, ids);
    case 'integer':
    case 'number':
      return Math.min(schema.maximum ?? 100, Math.max(schema.minimum ?? 0, Math.floor(random() * 200)));
    case 'boolean':
      return random() < 0.5;
    case 'null':
      return null;
    case undefined:
    default:
      return pick(random, ['x', 1, null, { action: 'turn_on' }, []]);
  }
}

function textOf(schema: JsonSchema, random: Random, ids: readonly string[]): string {
  if (schema.format === 'uuid') return pick(random, ids);
  const words = ['Hall', '1.2.3', 'turn_on', 'temperature', 'someone@example.org', '2026-01-01T00:00:00.000Z', '07:30'];
  const word = pick(random, words).padEnd(schema.minLength ?? 1, 'x');
  return word.slice(0, schema.maxLength ?? word.length);
}
