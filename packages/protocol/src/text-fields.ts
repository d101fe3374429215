import { ownValue } from './own-value.ts';

/* What a person may type into a field of a form: the limits of the body that it becomes. */

/** The schema of a body. Only the limits of its texts are read. */
export type TextBody = { readonly properties: Readonly<Record<string, object>> };

type Limits = { minLength?: number; maxLength?: number; pattern?: string };

/** Characters that fit into the field; undefined: the schema names no limit. */
export const longestText = (body: TextBody, name: string): number | undefined => limitsOf(body, name).maxLength;

/** Characters that the field needs at least. */
export const shortestText = (body: TextBody, name: string): number => limitsOf(body, name).minLength ?? 0;

/** Why the station would refuse a text: `required`: empty, `email`: no address, `short`: below `shortestText`. */
export type TextFault = 'required' | 'email' | 'short' | 'refused';

/** @returns null when the station would take the text. */
export function textFault(body: TextBody, name: string, text: string): TextFault | null {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern = '' } = limitsOf(body, name);
  if (text.trim() === '' && minLength > 0) return 'required';
  if (!new RegExp(pattern, 'u').test(text)) return pattern.includes('@') ? 'email' : 'refused';
  if (text.length < minLength) return 'short';
  return text.length > maxLength ? 'refused' : null;
}

const limitsOf = (body: TextBody, name: string): Limits => ownValue(body.properties, name) ?? {};
