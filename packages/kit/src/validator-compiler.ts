import type { TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import { ownValue, setOwnValue } from '@station/protocol/own-value';
import { limitFaults, RequestInvalidError, type RequestPart, toFaults } from './validation.ts';

const cannotBeStored = 'has an invalid character, or a number that is too large';

/** Fastify's validator compiler: creates the check for one part of a request from its schema. */
export type ValidatorCompiler = (route: {
  schema: TSchema;
  httpPart?: string | undefined;
}) => (given: unknown) => { value: unknown } | { error: Error };

/**
 * Validates with TypeBox, because Fastify's default (Ajv) needs about 13 MB more memory. Decimal numbers in the URL are converted where
 * the schema requires a number; a body is not converted. UUIDs (`format: 'uuid'`) are converted to lower case everywhere.
 * @param options.findUnstorable returns the JSON pointer of a value that the program cannot store, or null.
 */
export function createValidatorCompiler(
  options: { findUnstorable?: (value: unknown) => string | null } = {},
): ValidatorCompiler {
  limitFaults();
  return ({ schema, httpPart }) => {
    // Compiled on first use, because a station uses few of the many routes.
    let validator: Validator | null = null;
    const part = (httpPart ?? 'body') as RequestPart;
    return (given: unknown) => {
      const value = normalize(schema, given, part !== 'body');
      validator ??= Compile(schema);
      if (validator.Check(value)) {
        const pointer = options.findUnstorable?.(value) ?? null;
        if (pointer === null) return { value };
        return { error: new RequestInvalidError([{ in: part, pointer, message: cannotBeStored }]) };
      }
      return { error: new RequestInvalidError(toFaults(part, schema, validator.Errors(value))) };
    };
  };
}

type Walked = { type?: string; format?: string; properties?: Record<string, object>; items?: object; anyOf?: object[] };

const isUuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const isDecimal = /^-?[0-9]{1,15}(\.[0-9]{1,15})?$/;

/**
 * What means the same gets one form: UUIDs are read without regard to case and written in lower case (RFC 9562, section 4).
 * @param isText also numbers are texts, as in a URL.
 */
export function normalize(schema: object, given: unknown, isText: boolean): unknown {
  const { type, format, properties, items, anyOf = [] } = schema as Walked;
  if (typeof given === 'string') {
    if (format === 'uuid' && isUuid.test(given)) return given.toLowerCase();
    if (isText && (type === 'integer' || type === 'number') && isDecimal.test(given)) return Number(given);
  }
  if (items !== undefined && Array.isArray(given)) return given.map((one) => normalize(items, one, isText));
  if (properties !== undefined && isObject(given)) {
    const normal = { ...given };
    for (const [key, inner] of Object.entries(properties)) {
      if (Object.hasOwn(normal, key)) setOwnValue(normal, key, normalize(inner, ownValue(normal, key), isText));
    }
    return normal;
  }
  return anyOf.reduce((value, alternative) => normalize(alternative, value, isText), given);
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
