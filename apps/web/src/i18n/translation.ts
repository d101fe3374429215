import { ownValue } from '@station/protocol/own-value';
import type { i18n as I18n, TFunction } from 'i18next';
import { createContext, createElement, type ReactNode, useContext, useSyncExternalStore } from 'react';

/*
 * What the pages use of i18next, at a tenth of its size: the build puts this file in the place of `react-i18next`
 * (docs/adr/0050). A test compares it with i18next over all texts.
 */

export type Texts = { readonly [key: string]: string | Texts };
type Values = { readonly [name: string]: string | number | undefined };
/** `replace`: the values of a text whose key is not known before, apart from the other options. */
type Options = { count?: number; defaultValue?: string; replace?: Values };

/** Texts by language, and the language that is shown. */
export type Translation = {
  readonly language: string;
  has(language: string, key?: string): boolean;
  /** Adds texts; top-level keys that are there already are replaced. */
  add(language: string, texts: object): void;
  /** Shows another language, whose texts were added before. */
  change(language: string): void;
  /** A new function for each language, so that it can be the dependency of an effect. */
  readonly t: TFunction;
  subscribe(listener: () => void): () => void;
};

export function createTranslation(language: string): Translation {
  const texts = new Map<string, Texts>();
  const listeners = new Set<() => void>();
  let shown = { language, t: translatorFor(language, () => texts.get(language) ?? {}) };
  return {
    get language() {
      return shown.language;
    },
    get t() {
      return shown.t;
    },
    has: (one, key) => (key === undefined ? texts.has(one) : ownValue(texts.get(one), key) !== undefined),
    add: (one, more) => void texts.set(one, { ...texts.get(one), ...(more as Texts) }),
    change: (next) => {
      shown = { language: next, t: translatorFor(next, () => texts.get(next) ?? {}) };
      for (const listener of listeners) listener();
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

function translatorFor(language: string, texts: () => Texts): TFunction {
  const plurals = new Intl.PluralRules(language);
  const translate = (key: string, options: Options = {}): string => {
    const { count, defaultValue, replace = options as Values } = options;
    const plural = count === undefined ? undefined : find(texts(), `${key}_${plurals.select(count)}`);
    return filledIn(plural ?? find(texts(), key) ?? defaultValue ?? key, replace);
  };
  return translate as unknown as TFunction;
}

function find(texts: Texts, key: string): string | undefined {
  let found: string | Texts | undefined = texts;
  for (const part of key.split('.')) found = typeof found === 'object' ? ownValue(found, part) : undefined;
  return typeof found === 'string' ? found : undefined;
}

const filledIn = (text: string, values: Values): string =>
  text.includes('{{')
    ? text.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => String(ownValue(values, name) ?? ''))
    : text;

const TranslationContext = createContext<Translation | null>(null);

export const TranslationProvider = ({ translation, children }: { translation: Translation; children: ReactNode }) =>
  createElement(TranslationContext, { value: translation }, children);

/**
 * The same as `useTranslation` of `react-i18next`, without its options.
 * @public imported under the name of that package
 */
export function useTranslation(): { t: TFunction; i18n: Pick<I18n, 'language'> } {
  const translation = useContext(TranslationContext);
  if (!translation) throw new Error('useTranslation outside of TranslationProvider');
  return { t: useSyncExternalStore(translation.subscribe, () => translation.t), i18n: translation };
}
