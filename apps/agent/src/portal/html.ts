import { contentSecurityPolicy, script, style } from './assets.ts';
import { languages } from './language.ts';
import type { Texts } from './texts.ts';

/** Markup that is ready to be sent. Only what this file makes or checks is of this kind. */
export type Html = string & { readonly kind: unique symbol };

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Text as markup, for content and for attributes in quotes. */
export const escapeHtml = (text: string): Html => text.replace(/[&<>"']/g, (sign) => entities[sign] ?? '') as Html;

/** Template for markup: texts that are put in are escaped, markup and lists of it are not. */
export function html(parts: TemplateStringsArray, ...values: readonly (Html | readonly Html[] | Escaped)[]): Html {
  // Indentation is for the source: the page has to be small.
  const raw = parts.map((part) => part.replace(/\s*\n\s*/g, '\n'));
  return String.raw({ raw }, ...values.map(toHtml)) as Html;
}

/** A text to be escaped by {@link html}. */
export type Escaped = { text: string };
export const plain = (text: string): Escaped => ({ text });

function toHtml(value: Html | readonly Html[] | Escaped): string {
  if (typeof value === 'string') return value;
  return 'text' in value ? escapeHtml(value.text) : value.join('');
}

export const nothing = '' as Html;

/** A text with `{name}`-like places filled in; what is filled in is kept apart, so that its direction of writing disturbs nothing. */
export function fill(text: string, names: Readonly<Record<string, string>>): Html {
  const marked = escapeHtml(text).replace(
    /\{(\w+)\}/g,
    (_, key: string) => html`<bdi>${plain(names[key] ?? '')}</bdi>`,
  );
  return marked as Html;
}

/** A text with its places filled in as plain text, for a page's title. */
export const fillText = (text: string, names: Readonly<Record<string, string>>): string =>
  text.replace(/\{(\w+)\}/g, (_, key: string) => names[key] ?? '');

/** Headers of every page that somebody reads. */
export const pageHeaders = {
  'Content-Type': 'text/html; charset=utf-8',
  'Cache-Control': 'no-store',
  'Content-Security-Policy': contentSecurityPolicy,
  'X-Content-Type-Options': 'nosniff',
  // With `no-referrer` a browser would call the origin of our own form `null`.
  'Referrer-Policy': 'same-origin',
} as const;

const scriptTag = `<script>${script}</script>` as Html;
const styleTag = `<style>${style}</style>` as Html;

/** A whole document. `head` is for a refresh; the language switch leads to the start page. */
export function renderDocument(options: { texts: Texts; title: string; head?: Html; main: Html }): string {
  const { texts, title, main } = options;
  return html`<!doctype html>
    <html lang="${plain(texts.language)}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width,initial-scale=1" />
        <title>${plain(title)}</title>
        ${options.head ?? nothing}${styleTag}
      </head>
      <body>
        <header><span>${plain(texts.product)}</span> ${renderLanguages(texts)}</header>
        <main>${main}</main>
        ${scriptTag}
      </body>
    </html> `;
}

const languageNames = { en: 'English', uk: 'Українська' } as const;

function renderLanguages(texts: Texts): Html {
  const links = languages.map((language) => {
    const name = plain(languageNames[language]);
    if (language === texts.language) return html`<span lang="${plain(language)}" aria-current="true">${name}</span> `;
    return html`<a lang="${plain(language)}" hreflang="${plain(language)}" href="/?lang=${plain(language)}"
      >${name}</a
    > `;
  });
  return html`<nav aria-label="${plain(texts.languageSwitch)}">${links}</nav>`;
}
