import { useMutation } from '@tanstack/react-query';
import { type RefObject, type SubmitEvent, useId, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { useTranslation } from 'react-i18next';
import { ownValue } from '@station/protocol/own-value';
import {
  type FieldLimits,
  fieldLimits,
  shortestText,
  type TextBody,
  type TextFault,
  textFault,
} from '@station/protocol/text-fields';
import { asProblem, type FieldFault, type Problem } from '../api/request.ts';

export const textOf = (form: FormData, name: string): string => {
  const value = form.get(name);
  return typeof value === 'string' ? value : '';
};

/** The texts of the fields, without the spaces around them where a field is not `verbatim`. */
export type Texts<Name extends string> = Readonly<Record<Name, string>>;

/** A fault as a key of `error.field`, or in words of its own. */
type Fault = TextFault | { words: string };

/** What is wrong with a text, in words: in place of a general fault, or although the body could take it. Null: nothing. */
type Checks<Name extends string> = {
  readonly [Key in Name]?: ((text: string, texts: Texts<Name>) => string | null) | undefined;
};

type Limits<Name extends string> = {
  /** What the fields become: the station's own limits are checked before it is asked. */
  body: TextBody;
  /** Fields that may stay empty. */
  mayBeEmpty?: readonly Name[];
  checks?: Checks<Name>;
};

type Options<Body extends TextBody, Name extends string, Answer> = Limits<NoInfer<Name>> & {
  body: Body;
  /** A field that the form does not show now is empty, and is not checked. */
  fields: readonly Name[];
  /** What else must be right, and marks what is not. It is asked in any case, so that all faults are shown at once. */
  check?: (texts: Texts<Name>) => boolean;
  send: (texts: Texts<Name>) => Promise<Answer>;
  onDone?: (answer: Answer) => void;
  /** Codes that are about one field, with its words. */
  wrong?: Partial<Record<Problem['code'], { field: NoInfer<Name>; words: string }>>;
  /** Words for a problem that means something of its own here; null: the usual ones. */
  explain?: (problem: Problem) => string | null;
  usable?: boolean;
};

export type Form<Name extends string, Answer> = {
  /** Of the `<form>`. */
  props: {
    id: string;
    ref: RefObject<HTMLFormElement | null>;
    noValidate: true;
    onSubmit: (event: SubmitEvent<HTMLFormElement>) => void;
    onChange: (event: { target: EventTarget }) => void;
  };
  /** Of a `<Field>` or a `<Select>`. */
  field(name: Name): { name: string; fault: string | null } & FieldLimits;
  /** Writes into fields. */
  fill(texts: Partial<Texts<Name>>): void;
  /** Something was changed that is not typed. */
  touch(name?: Name): void;
  /** The cursor goes to the first field that is marked on the page. */
  focusFault(): void;
  /** Since the page opened, or since what was sent last arrived. */
  isChanged: boolean;
  isBusy: boolean;
  /** What went wrong; null also when it is told at a field. */
  problem: Problem | null;
  /** Words of its own for the problem. */
  explanation: string | null;
  answer: Answer | undefined;
  /** It arrived, and nothing was changed since. */
  isDone: boolean;
};

/** A form of text fields that becomes a request. What is wrong is marked, with the cursor in the first such field. */
export function useForm<Body extends TextBody, Name extends keyof Body['properties'] & string, Answer>({
  body,
  fields,
  mayBeEmpty = [],
  checks = {},
  check = () => true,
  send,
  onDone,
  wrong = {},
  explain = () => null,
  usable = true,
}: Options<Body, Name, Answer>): Form<Name, Answer> {
  const { t } = useTranslation();
  const id = useId();
  const ref = useRef<HTMLFormElement>(null);
  const [faults, setFaults] = useState<ReadonlyMap<string, Fault>>(new Map());
  const [changes, setChanges] = useState(0);
  const [saved, setSaved] = useState(0);
  const focusFault = (): void => ref.current?.querySelector<HTMLElement>(faultyField)?.focus();
  const mark = (found: ReadonlyMap<string, Fault>): void => {
    // The marks are on the page before the next key comes.
    flushSync(() => setFaults(found));
    focusFault();
  };
  const change = (names: readonly string[]): void => {
    setChanges((count) => count + 1);
    setFaults((found) => new Map([...found].filter(([name]) => !names.includes(name))));
  };
  const act = useMutation({
    mutationFn: (sent: { texts: Texts<Name>; changes: number }) => send(sent.texts),
    onSuccess: (answer, sent) => {
      setSaved(sent.changes);
      onDone?.(answer);
    },
    onError: (error) => {
      const { code, faults: refused } = asProblem(error);
      const known = ownValue(wrong, code);
      const found = known ? new Map([[known.field, { words: known.words }]]) : refusedFields(fields, refused);
      if (found.size > 0) mark(found);
    },
    // It may be a password.
    gcTime: 0,
  });
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = event.currentTarget;
    const texts = textsOf(form, fields);
    const shown = fields.filter((name) => form.elements.namedItem(name) !== null);
    const found = faultsOf({ body, mayBeEmpty, checks }, texts, shown);
    if (!check(texts) || found.size > 0) mark(found);
    else {
      setFaults(found);
      if (usable && !act.isPending) act.mutate({ texts, changes });
    }
  };
  const problem = act.error ? asProblem(act.error) : null;
  const untold = problem && ownValue(wrong, problem.code) ? null : problem;
  return {
    props: {
      id,
      ref,
      noValidate: true,
      onSubmit: submit,
      onChange: ({ target }) => change('name' in target ? [String(target.name)] : []),
    },
    field: (name) => {
      const fault = faults.get(name) ?? null;
      const limits = fieldLimits(body, name);
      const { min = shortestText(body, name), max = Number.POSITIVE_INFINITY } = limits;
      const words = typeof fault === 'string' ? t(`error.field.${fault}`, { min, max }) : (fault?.words ?? null);
      return { name, fault: words, ...limits };
    },
    fill: (texts) => {
      for (const [name, text] of Object.entries<string | undefined>(texts)) {
        const field = ref.current?.elements.namedItem(name);
        if (field instanceof HTMLInputElement && text !== undefined) field.value = text;
      }
      change(Object.keys(texts));
    },
    touch: (name) => change(name === undefined ? [] : [name]),
    focusFault,
    isChanged: changes !== saved,
    isBusy: act.isPending,
    problem: untold,
    explanation: untold && explain(untold),
    answer: act.data,
    isDone: act.isSuccess && changes === saved,
  };
}

const faultyField = '[aria-invalid], [data-fault] :is(select, input)';

function textsOf<Name extends string>(form: HTMLFormElement, fields: readonly Name[]): Texts<Name> {
  const data = new FormData(form);
  const read = (name: Name): string => {
    const field = form.elements.namedItem(name);
    const text = textOf(data, name);
    return field instanceof HTMLElement && 'verbatim' in field.dataset ? text : text.trim();
  };
  return Object.fromEntries(fields.map((name) => [name, read(name)])) as Texts<Name>;
}

/** What is wrong with the fields of these names. */
export function faultsOf<Name extends string>(
  { body, mayBeEmpty = [], checks = {} }: Limits<Name>,
  texts: Texts<Name>,
  names: readonly Name[],
): ReadonlyMap<Name, Fault> {
  const found = new Map<Name, Fault>();
  for (const name of names) {
    const text = texts[name];
    if (text === '' && mayBeEmpty.includes(name)) continue;
    const fault = textFault(body, name, text);
    const words = fault === 'required' ? null : (checks[name]?.(text, texts) ?? null);
    const worst = words === null ? fault : { words };
    if (worst !== null) found.set(name, worst);
  }
  return found;
}

/** The fields a 400 points at. A name is the end of a pointer: `url` or `webdav/url` for "/webdav/url". */
export const refusedFields = (
  names: readonly string[],
  faults: readonly FieldFault[],
): ReadonlyMap<string, TextFault> =>
  new Map(
    names
      .filter((name) => faults.some(({ pointer }) => pointer.endsWith(`/${name}`)))
      .map((name) => [name, 'refused' as const]),
  );
