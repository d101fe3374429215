import { Type, type TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import { Settings } from 'typebox/system';
import { Value } from 'typebox/value';
import type { ValidationFault } from '@station/protocol/rest';

/** A request that does not match its schema; each fault has a JSON pointer (contracts, section 0). */
export class RequestInvalidError extends Error {
  readonly faults: ValidationFault[];

  constructor(faults: ValidationFault[]) {
    super('The request is not valid');
    this.name = 'RequestInvalidError';
    this.faults = faults;
  }
}

/** Schemas for the parts that a route does not declare: values are refused there, not ignored. */
export const NoQuery = Type.Object({}, { additionalProperties: false });
export const NoBody = Type.Union([Type.Null(), Type.Object({}, { additionalProperties: false })]);

const maxFaults = 64;

/** Fastify's validator compiler: creates the check for one part of a request from its schema. */
export type ValidatorCompiler = (route: {
  schema: TSchema;
  httpPart?: string | undefined;
}) => (given: unknown) => { value: unknown } | { error: Error };

/**
 * Validates with TypeBox, because Fastify's default (Ajv) needs about 13 MB more memory. Text from the URL is converted to
 * numbers and booleans as the schema requires; a body is not converted.
 * @param options.findUnstorable returns the JSON pointer of text that the program cannot store, or null.
 */
export function createValidatorCompiler(
  options: { findUnstorable?: (value: unknown) => string | null } = {},
): ValidatorCompiler {
  Settings.Set({ maxErrors: maxFaults });
  return ({ schema, httpPart }) => {
    // Compiled on first use, because a station uses few of the many routes.
    let validator: Validator | null = null;
    const part = (httpPart ?? 'body') as ValidationFault['in'];
    return (given: unknown) => {
      const value = part === 'body' ? given : Value.Convert(schema, given);
      validator ??= Compile(schema);
      if (validator.Check(value)) {
        const pointer = options.findUnstorable?.(value) ?? null;
        if (pointer === null) return { value };
        return { error: new RequestInvalidError([{ in: part, pointer, message: 'contains an invalid character' }]) };
      }
      return { error: new RequestInvalidError(toFaults(part, validator.Errors(value))) };
    };
  };
}

type SchemaError = { keyword: string; instancePath: string; params: unknown; message: string };

function toFaults(part: ValidationFault['in'], errors: readonly SchemaError[]): ValidationFault[] {
  const byPointer = new Map<string, Set<string>>();
  const add = (pointer: string, message: string): void => {
    const messages = byPointer.get(pointer) ?? new Set();
    byPointer.set(pointer, messages.add(message));
  };
  for (const { keyword, instancePath, params, message } of errors) {
    if (keyword === 'required') {
      const { requiredProperties } = params as { requiredProperties: string[] };
      for (const name of requiredProperties) add(`${instancePath}/${escapePointer(name)}`, 'is required');
    } else if (keyword === 'boolean') {
      add(instancePath, 'is not a known key');
    } else if (keyword !== 'additionalProperties' && keyword !== 'anyOf') {
      // The filtered errors repeat other, more exact errors.
      add(instancePath, message);
    }
  }
  if (byPointer.size === 0) add('', 'is not valid');
  // In a union, errors about the type are dropped when another alternative reports a fault inside the value.
  const isInside = (outer: string): boolean => byPointer.keys().some((pointer) => pointer.startsWith(`${outer}/`));
  const useful = [...byPointer].filter(([pointer, messages]) => !isTypeOnly(messages) || !isInside(pointer));
  return useful.map(([pointer, messages]) => ({ in: part, pointer, message: [...messages].join(' or ') }));
}

const isTypeOnly = (messages: ReadonlySet<string>): boolean =>
  [...messages].every((message) => /^must be \w+$/.test(message));

/** RFC 6901, section 3. */
const escapePointer = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1');
