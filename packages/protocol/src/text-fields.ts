import { ownValue } from './own-value.ts';

/*
 * What a person may type into a field of a form: the limits of the body that it becomes. Limits that stand beside their schema, here and in
 * other files without the library of the schemas, keep a page of the web app small.
 */

/** The schema of a body. Only the limits of its texts and whole numbers are read. */
export type TextBody = { readonly properties: Readonly<Record<string, object>> };

/** The characters that turn the text around them (UAX 9, explicit formatting), for a class of a regular expression. */
export const turning = '\\u202a-\\u202e\\u2066-\\u2069';
/**
 * A character that is seen. Blanks, control and format characters, U+2800 and all that Unicode lets a program ignore are not, and marks need one
 * before them.
 */
const seen = '[^\\s\\p{Cc}\\p{Cf}\\p{M}\\p{Default_Ignorable_Code_Point}\\u2800]';
const someName = `(?![\\s\\S]*[${turning}])[\\s\\S]*${seen}`;

const nameWords = 'text that can be seen, without characters that change the direction of writing';
export const nameForm = { pattern: `^${someName}`, expected: nameWords } as const;
/** Empty, or a name. */
export const optionalNameForm = { pattern: `^(\\s*$|${someName})`, expected: `empty, or ${nameWords}` } as const;
/** What is read and is no name. */
export const seenForm = { pattern: seen, expected: 'text that can be seen' } as const;

/** Of a device, a zone, a scene, a person or the station. */
export const nameText = { minLength: 1, maxLength: 100, ...nameForm } as const;

export const timeOfDay = {
  pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$',
  expected: 'a time of day, such as 07:30',
} as const;

export const httpAddress = {
  pattern: '^https?://',
  expected: 'an address that begins with http:// or https://',
} as const;

type Limits = {
  type?: string;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  minimum?: number;
  maximum?: number;
};

/** Attributes of an input. Absent: the schema names no limit. */
export type FieldLimits = { maxLength?: number | undefined; type?: 'number'; min?: number; max?: number };

/** Characters that fit into the field, or the range of a whole number. */
export function fieldLimits(body: TextBody, name: string): FieldLimits {
  const { type, maxLength, minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = limitsOf(body, name);
  return type === 'integer' ? { type: 'number', min: minimum, max: maximum } : { maxLength };
}

/** Characters that the field needs at least. */
export const shortestText = (body: TextBody, name: string): number => limitsOf(body, name).minLength ?? 0;

/** Why the station would refuse a text: `required`: empty, `email`: no address, `short`: below `shortestText`, `number`: not in its range. */
export type TextFault = 'required' | 'email' | 'short' | 'number' | 'refused';

/** @returns null when the station would take the text. */
export function textFault(body: TextBody, name: string, text: string): TextFault | null {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern = '' } = limitsOf(body, name);
  const { min, max } = fieldLimits(body, name);
  const isMatch = new RegExp(pattern, 'u').test(text);
  if (text.trim() === '' && (minLength > 0 || min !== undefined || !isMatch)) return 'required';
  if (min !== undefined && max !== undefined) return isWholeNumber(text, min, max) ? null : 'number';
  if (!isMatch) return pattern.includes('@') ? 'email' : 'refused';
  if (text.length < minLength) return 'short';
  return text.length > maxLength ? 'refused' : null;
}

const isWholeNumber = (text: string, min: number, max: number): boolean =>
  /^-?\d+$/.test(text.trim()) && Number(text) >= min && Number(text) <= max;

const limitsOf = (body: TextBody, name: string): Limits => ownValue(body.properties, name) ?? {};
