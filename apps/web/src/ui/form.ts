import type { FieldFault } from '../api/request.ts';

/** What is wrong with a field, as a key of `error.field`. */
export type FieldFaults = { readonly [name: string]: 'required' | 'email' | 'short' | 'refused' | undefined };
type Rule = 'filled' | 'email' | 'new_password' | 'free';

/** As the backend wants it (protocol, `NewPassword`). */
export const shortestPassword = 10;

export const textOf = (form: FormData, name: string): string => {
  const value = form.get(name);
  return typeof value === 'string' ? value : '';
};

/** Checks fields in the browser, so that an empty field is reported without a request. */
export function checkForm(
  values: Readonly<Record<string, string>>,
  rules: Readonly<Record<string, Rule>>,
): FieldFaults {
  const faults: Record<string, FieldFaults[string]> = {};
  for (const [name, rule] of Object.entries(rules)) {
    const value = values[name] ?? '';
    if (rule === 'free') continue;
    if (value.trim() === '') faults[name] = 'required';
    else if (rule === 'email' && !/^[^\s@]+@[^\s@]+$/.test(value)) faults[name] = 'email';
    else if (rule === 'new_password' && value.length < shortestPassword) faults[name] = 'short';
  }
  return faults;
}

/** The fields a 400 points at: "/email" → email. */
export const refusedFields = (faults: readonly FieldFault[]): FieldFaults =>
  Object.fromEntries(faults.map((fault) => [fault.pointer.split('/')[1] ?? '', 'refused' as const]));

/** Puts the cursor where something is to be corrected. */
export function focusFirst(form: HTMLFormElement, faults: FieldFaults): void {
  const first = [...form.elements].find((element) => element instanceof HTMLInputElement && faults[element.name]);
  if (first instanceof HTMLElement) first.focus();
}
