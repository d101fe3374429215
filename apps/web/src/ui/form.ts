import { type RefObject, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ownValue, setOwnValue } from '@station/protocol/own-value';
import type { FieldFault } from '../api/request.ts';

/** What is wrong with a field, as a key of `error.field`. */
type FieldFaults = { readonly [name: string]: 'required' | 'email' | 'short' | 'refused' | undefined };
type Rule = 'filled' | 'email' | 'new_password' | 'free';

/** The backend's limit (protocol, `NewPassword`). */
const shortestPassword = 10;

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
    const value = ownValue(values, name) ?? '';
    if (rule === 'free') continue;
    if (value.trim() === '') setOwnValue(faults, name, 'required');
    else if (rule === 'email' && !/^[^\s@]+@[^\s@]+$/.test(value)) setOwnValue(faults, name, 'email');
    else if (rule === 'new_password' && value.length < shortestPassword) setOwnValue(faults, name, 'short');
  }
  return faults;
}

/** The fields a 400 points at: "/email" → email. */
export const refusedFields = (faults: readonly FieldFault[]): FieldFaults =>
  Object.fromEntries(faults.map((fault) => [fault.pointer.split('/')[1] ?? '', 'refused' as const]));

export type FormFaults = {
  /** Checks the values and marks the faulty fields; puts the cursor into the first of them. True when there is none. */
  check(
    form: HTMLFormElement,
    values: Readonly<Record<string, string>>,
    rules: Readonly<Record<string, Rule>>,
  ): boolean;
  /** Marks the fields that the station has refused. */
  showRefused(faults: readonly FieldFault[]): void;
  /** The text for a field; null: nothing is wrong with it. */
  messageOf(name: string): string | null;
};

/** What is wrong with the fields of a form. */
export function useFormFaults(): FormFaults {
  const { t } = useTranslation();
  const [faults, setFaults] = useState<FieldFaults>({});
  return {
    check: (form, values, rules) => {
      const found = checkForm(values, rules);
      setFaults(found);
      const isGood = Object.keys(found).length === 0;
      if (!isGood) focusFirst(form, found);
      return isGood;
    },
    showRefused: (refused) => setFaults(refusedFields(refused)),
    messageOf: (name) => {
      const fault = ownValue(faults, name);
      return fault ? t(`error.field.${fault}`, { min: shortestPassword }) : null;
    },
  };
}

/**
 * Puts the cursor into the field that a refusal is about.
 * @param name null: none. @param submittedAt of the last try: the same field may be refused again.
 */
export function useFocusOn(form: RefObject<HTMLFormElement | null>, name: string | null, submittedAt: number): void {
  useEffect(() => {
    const field = name === null ? null : form.current?.elements.namedItem(name);
    if (field instanceof HTMLElement) field.focus();
  }, [form, name, submittedAt]);
}

/** Puts the cursor where something is to be corrected. */
function focusFirst(form: HTMLFormElement, faults: FieldFaults): void {
  const first = [...form.elements].find(
    (element) => element instanceof HTMLInputElement && ownValue(faults, element.name),
  );
  if (first instanceof HTMLElement) first.focus();
}
