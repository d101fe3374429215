import { ownValue } from './own-value.ts';

/** An error as TypeBox reports it. `schemaPath`: `#` and the JSON pointer (RFC 6901) of the schema that the value does not match. */
export type SchemaError = {
  keyword: string;
  schemaPath: string;
  instancePath: string;
  params: object;
  message: string;
};

type Params = {
  type?: string;
  format?: string;
  limit?: number;
  allowedValues?: unknown[];
  allowedValue?: unknown;
  requiredProperties?: string[];
};

const typeWords: Record<string, string> = {
  integer: 'a whole number',
  number: 'a number',
  string: 'text',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
};

export const formatWords: Record<string, string> = {
  uuid: 'an id (a UUID)',
  'date-time': 'a time, such as 2026-01-31T12:00:00Z',
};

/**
 * What a value must be, for people: "must be at least 1". A schema with a `pattern` says it as `expected`, which follows "must be".
 * @param schema the whole schema, which the error belongs to.
 */
export function errorWords(schema: object, { keyword, schemaPath, params, message }: SchemaError): string {
  const {
    type = '',
    format = '',
    limit = 0,
    allowedValues = [],
    allowedValue,
    requiredProperties = [],
  } = params as Params;
  const count = (unit: string): string => `${limit} ${unit}${limit === 1 ? '' : 's'}`;
  switch (keyword) {
    case 'pattern':
      return `must be ${expectedAt(schema, schemaPath) ?? someForm}`;
    case 'format':
      return `must be ${ownValue(formatWords, format) ?? someForm}`;
    case 'type':
      return `must be ${ownValue(typeWords, type) ?? type}`;
    case 'enum':
      return `must be one of ${listOf(allowedValues)}`;
    case 'const':
      return `must be ${JSON.stringify(allowedValue)}`;
    case 'boolean':
      return 'is not a known key';
    case 'anyOf':
      return 'is not valid';
    case 'required':
      return `must have ${listOf(requiredProperties)}`;
    case 'minimum':
      return `must be at least ${limit}`;
    case 'maximum':
      return `must be at most ${limit}`;
    case 'exclusiveMinimum':
      return `must be more than ${limit}`;
    case 'exclusiveMaximum':
      return `must be less than ${limit}`;
    case 'minLength':
      return limit === 1 ? 'must not be empty' : `must have at least ${count('character')}`;
    case 'maxLength':
      return `must have at most ${count('character')}`;
    case 'minItems':
      return limit === 1 ? 'must not be empty' : `must have at least ${limit} entries`;
    case 'maxItems':
      return `must have at most ${limit} ${limit === 1 ? 'entry' : 'entries'}`;
    case 'minProperties':
      return limit === 1 ? 'must not be empty' : `must have at least ${count('key')}`;
    case 'maxProperties':
      return `must have at most ${count('key')}`;
    case 'uniqueItems':
      return 'must not have the same entry twice';
    default:
      return message;
  }
}

const listOf = (values: readonly unknown[]): string => values.map((value) => JSON.stringify(value)).join(', ');

const someForm = 'written in the form of this field';

function expectedAt(schema: object, schemaPath: string): string | undefined {
  let at: unknown = schema;
  for (const step of schemaPath.split('/').slice(1)) {
    at = ownValue(at as Record<string, unknown>, step.replaceAll('~1', '/').replaceAll('~0', '~'));
  }
  return ownValue(at as Record<string, string>, 'expected');
}
