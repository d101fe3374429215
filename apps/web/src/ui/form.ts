import { useMutation } from '@tanstack/react-query';
import { type RefObject, type SubmitEvent, useId, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ownValue } from '@station/protocol/own-value';
import { longestText, shortestText, type TextBody, type TextFault, textFault } from '@station/protocol/text-fields';
import { asProblem, type FieldFault, type Problem } from '../api/request.ts';

export const textOf = (form: FormData, name: string): string => {
  const value = form.get(name);
  return typeof value === 'string' ? value : '';
};

/** The texts of the fields; passwords as they are, all others without the spaces around them. */
export type Texts<Name extends string> = Readonly<Record<Name, string>>;

/** A fault as a key of `error.field`, or in words of its own. */
type Fault = TextFault | { words: string };

type Options<Body extends TextBody, Name extends string, Answer> = {
  /** What the fields become: the station's own limits are checked before it is asked. */
  body: Body;
  fields: readonly Name[];
  /** Fields that may stay empty. */
  mayBeEmpty?: readonly Name[];
  /** What else must be right. It is asked in any case, so that all faults are shown at once. */
  check?: (texts: Texts<Name>) => boolean;
  send: (texts: Texts<Name>) => Promise<Answer>;
  onDone?: (answer: Answer) => void;
  /** Codes that are about one field, with its words. */
  wrong?: Partial<Record<Problem['code'], { field: Name; words: string }>>;
  usable?: boolean;
};

export type Form<Name extends string, Answer> = {
  /** Of the `<form>`. */
  props: {
    id: string;
    ref: RefObject<HTMLFormElement | null>;
    noValidate: true;
    onSubmit: (event: SubmitEvent<HTMLFormElement>) => void;
  };
  /** Of a `<Field>`. */
  field(name: Name): { name: Name; maxLength: number | undefined; fault: string | null };
  isBusy: boolean;
  /** What went wrong; null also when it is told at a field. */
  problem: Problem | null;
  answer: Answer | undefined;
  isDone: boolean;
  /** Forgets how the last try ended. */
  reset(): void;
};

/** A form of text fields that becomes a request. What is wrong is marked, with the cursor in the first such field. */
export function useForm<Body extends TextBody, Name extends keyof Body['properties'] & string, Answer>({
  body,
  fields,
  mayBeEmpty = [],
  check = () => true,
  send,
  onDone,
  wrong = {},
  usable = true,
}: Options<Body, Name, Answer>): Form<Name, Answer> {
  const { t } = useTranslation();
  const id = useId();
  const ref = useRef<HTMLFormElement>(null);
  const [faults, setFaults] = useState<ReadonlyMap<string, Fault>>(new Map());
  const show = (found: ReadonlyMap<string, Fault>): void => {
    setFaults(found);
    const first = fields.find((name) => found.has(name));
    const field = first === undefined ? null : ref.current?.elements.namedItem(first);
    if (field instanceof HTMLElement) field.focus();
  };
  const act = useMutation({
    mutationFn: send,
    onSuccess: (answer) => onDone?.(answer),
    onError: (error) => {
      const { code, faults: refused } = asProblem(error);
      const known = ownValue(wrong, code);
      show(known ? new Map([[known.field, { words: known.words }]]) : refusedFields(refused));
    },
    // It may be a password.
    gcTime: 0,
  });
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const texts = textsOf(event.currentTarget, fields);
    const found = faultsOf(body, texts, mayBeEmpty);
    show(found);
    const isRight = check(texts) && found.size === 0;
    if (isRight && usable && !act.isPending) act.mutate(texts);
  };
  const problem = act.error ? asProblem(act.error) : null;
  return {
    props: { id, ref, noValidate: true, onSubmit: submit },
    field: (name) => {
      const fault = faults.get(name);
      const words = typeof fault === 'string' ? t(`error.field.${fault}`, { min: shortestText(body, name) }) : null;
      return { name, maxLength: longestText(body, name), fault: typeof fault === 'object' ? fault.words : words };
    },
    isBusy: act.isPending,
    problem: problem && ownValue(wrong, problem.code) ? null : problem,
    answer: act.data,
    isDone: act.isSuccess,
    reset: act.reset,
  };
}

function textsOf<Name extends string>(form: HTMLFormElement, fields: readonly Name[]): Texts<Name> {
  const data = new FormData(form);
  const read = (name: Name): string => {
    const field = form.elements.namedItem(name);
    const text = textOf(data, name);
    return field instanceof HTMLInputElement && field.autocomplete.endsWith('-password') ? text : text.trim();
  };
  return Object.fromEntries(fields.map((name) => [name, read(name)])) as Texts<Name>;
}

/** The fields that the station would refuse, with the reason. */
export function faultsOf(
  body: TextBody,
  texts: Texts<string>,
  mayBeEmpty: readonly string[] = [],
): ReadonlyMap<string, TextFault> {
  const found = new Map<string, TextFault>();
  for (const [name, text] of Object.entries(texts)) {
    const fault = text === '' && mayBeEmpty.includes(name) ? null : textFault(body, name, text);
    if (fault !== null) found.set(name, fault);
  }
  return found;
}

/** The fields a 400 points at: "/email" → email. */
export const refusedFields = (faults: readonly FieldFault[]): ReadonlyMap<string, TextFault> =>
  new Map(faults.map((fault) => [fault.pointer.split('/')[1] ?? '', 'refused' as const]));
