import type { TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import { Value } from 'typebox/value';
import { limitFaults, RequestInvalidError, type RequestPart, toFaults } from './validation.ts';

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
  limitFaults();
  return ({ schema, httpPart }) => {
    // Compiled on first use, because a station uses few of the many routes.
    let validator: Validator | null = null;
    const part = (httpPart ?? 'body') as RequestPart;
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
