import type { FieldFaults } from './form.ts';

/** Puts the cursor where something is to be corrected. */
export function focusFirst(form: HTMLFormElement, faults: FieldFaults): void {
  const first = [...form.elements].find((element) => element instanceof HTMLInputElement && faults[element.name]);
  if (first instanceof HTMLElement) first.focus();
}
