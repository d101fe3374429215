import { Type, type Static, type TSchema } from 'typebox';
import { Settings } from 'typebox/system';
import { Value } from 'typebox/value';
import type { ValidationFault } from '@station/protocol/rest';
import { errorWords, type SchemaError } from '@station/protocol/schema-words';

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

/** The part of a request that a fault is in. */
export type RequestPart = ValidationFault['in'];

/**
 * Checks one part of a request without compiling its schema. A compiled check is faster and needs 2 MiB more memory.
 * @throws RequestInvalidError
 */
export function checkRequest<Schema extends TSchema>(
  part: RequestPart,
  schema: Schema,
  given: unknown,
): Static<Schema> {
  limitFaults();
  if (Value.Check(schema, given)) return given;
  throw new RequestInvalidError(toFaults(part, schema, Value.Errors(schema, given)));
}

const maxFaults = 64;

/** Limits the faults that the schema library collects, in the whole process. */
export function limitFaults(): void {
  Settings.Set({ maxErrors: maxFaults });
}

export function toFaults(part: RequestPart, schema: TSchema, errors: readonly SchemaError[]): ValidationFault[] {
  const byPointer = new Map<string, Set<string>>();
  const ofType = new Set<string>();
  const add = (pointer: string, message: string): void => {
    const messages = byPointer.get(pointer) ?? new Set();
    byPointer.set(pointer, messages.add(message));
  };
  for (const error of errors) {
    const { keyword, instancePath, params } = error;
    if (keyword === 'required') {
      const { requiredProperties } = params as { requiredProperties: string[] };
      for (const name of requiredProperties) add(`${instancePath}/${escapePointer(name)}`, 'is required');
    } else if (keyword === 'boolean') {
      add(instancePath, 'is not a known key');
    } else if (keyword !== 'additionalProperties' && keyword !== 'anyOf') {
      // The filtered errors repeat other, more exact errors.
      const message = errorWords(schema, error);
      if (keyword === 'type') ofType.add(message);
      add(instancePath, message);
    }
  }
  if (byPointer.size === 0) add('', 'is not valid');
  // In a union, errors about the type are dropped when another alternative reports a fault inside the value.
  const isInside = (outer: string): boolean => byPointer.keys().some((pointer) => pointer.startsWith(`${outer}/`));
  const useful = [...byPointer].filter(([pointer, messages]) => !messages.isSubsetOf(ofType) || !isInside(pointer));
  return useful.map(([pointer, messages]) => ({ in: part, pointer, message: [...messages].join(' or ') }));
}

/** RFC 6901, section 3. */
const escapePointer = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1');
