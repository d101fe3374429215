import { createHash } from 'node:crypto';
import { languageNames, languages } from '@station/protocol/languages';
import { ownValue } from '@station/protocol/own-value';
import type { Texts } from './texts/portal-texts.ts';

/** Colours of the web app. The page contains everything it needs: without internet nothing can be fetched. */
const style = `
:root{color-scheme:light dark;--paper:#f4f5f2;--surface:#fff;--line:#dfe2dc;--edge:#858d87;--ink:#1a1f1c;--soft:#515a54;--accent:#3a45b8;--on:#fff;--pick:#e9ebfa;--fault:#b0251d;--faint:#fbe7e5}
@media(prefers-color-scheme:dark){:root{--paper:#101311;--surface:#1a1e1b;--line:#2e3530;--edge:#76817a;--ink:#e9ece9;--soft:#a9b3ac;--accent:#aab1ff;--on:#15183f;--pick:#272b4b;--fault:#ff9d94;--faint:#3a1d1b}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;-webkit-text-size-adjust:100%}
main{max-width:480px;margin:0 auto;padding:8px 16px 40px}
header,.row{display:flex;align-items:center;justify-content:space-between;gap:8px}
header{flex-wrap:wrap;max-width:480px;margin:0 auto;padding:8px 16px 0;color:var(--soft)}
nav{display:flex;flex-wrap:wrap;margin:0 -8px}
nav a,nav span{display:inline-flex;align-items:center;min-height:44px;padding:0 8px;font-size:14px}
nav span{font-weight:600;color:var(--ink)}
h1{font-size:24px;line-height:1.25;margin:8px 0}
h2,legend{font-size:16px;line-height:1.4;font-weight:600;margin:0;padding:0}
p{margin:0 0 16px}
a{color:var(--accent)}
.soft,small,.hint{color:var(--soft);font-size:14px}
h1,h2,p,li,b,small{overflow-wrap:anywhere}
.fault{background:var(--faint);border-left:4px solid var(--fault);border-radius:8px;padding:12px 16px;margin:8px 0 16px}
.fault h2{color:var(--fault)}
.fault p{margin:4px 0 0}
.note{background:var(--surface);border-left:4px solid var(--edge);border-radius:8px;padding:12px 16px}
.note b{font-weight:500}
fieldset{border:0;margin:0;padding:0;min-width:0}
.list{background:var(--surface);border:1px solid var(--line);border-radius:12px;overflow:hidden;margin:8px 0 16px}
.net{display:flex;align-items:center;gap:12px;min-height:56px;padding:8px 12px;border-top:1px solid var(--line)}
div:first-child>.net{border-top:0}
.net:has(:checked){background:var(--pick)}
.net:has(:disabled){opacity:.75}
.net span{flex:1;min-width:0}
.net b,.net small{display:block;line-height:1.35}
.net b{font-weight:500}
.net input{flex:none;width:20px;height:20px;margin:0;accent-color:var(--accent)}
svg{flex:none;width:20px;height:20px;fill:currentColor;color:var(--soft)}
.sprite{position:absolute;width:0;height:0}
label.top{display:block;font-weight:600;margin:0 0 4px}
.field{margin:0 0 16px}
.hint{margin-top:4px}
.sure{display:flex;align-items:center;gap:12px;min-height:48px;margin:0 0 16px}
.sure input{flex:none;width:20px;height:20px;margin:0;accent-color:var(--accent)}
input[type=text],input[type=password],select,button,.button{font:inherit;min-height:48px;border-radius:10px}
input[type=text],input[type=password],select{width:100%;min-width:0;padding:8px 12px;color:var(--ink);background:var(--surface);border:1px solid var(--edge)}
button,.button{border:1px solid var(--edge);background:none;color:var(--accent);padding:8px 16px;cursor:pointer}
.button{display:inline-flex;align-items:center}
.go{width:100%;background:var(--accent);border-color:var(--accent);color:var(--on);font-weight:600;text-decoration:none;justify-content:center}
.small{flex:none;min-height:44px;padding:4px 12px;font-size:14px}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
.net input:focus-visible{outline-offset:1px}
ol{padding-left:24px;margin:0 0 16px}
li{margin:0 0 12px;padding-left:4px}
.wait{height:4px;border-radius:2px;background:var(--line);overflow:hidden;margin:0 0 16px}
.wait i{display:block;width:40%;height:4px;background:var(--accent);animation:wait 1.6s ease-in-out infinite alternate}
@keyframes wait{to{transform:translateX(150%)}}
@media(prefers-reduced-motion:reduce){.wait i{animation:none;width:100%}}
@supports selector(:has(*)){.others{display:none}form:has(#other:checked) .others{display:block}form:has(.free:checked) .secret,form:has(#other:checked):has(option[value=open]:checked) .secret{display:none}}
`;

/**
 * Optional script of the page: it shows the password without losing it, and waits for the hotspot to come back
 * instead of showing the browser's error.
 */
const script = `
(function(d){
var p=d.getElementById('password');
if(p&&p.type==='password'){var b=d.createElement('button'),say=function(){var s=p.type!=='password';b.textContent=p.getAttribute(s?'data-hide':'data-show');b.setAttribute('aria-pressed',String(s))};
b.type='button';b.className='small';b.setAttribute('aria-controls','password');b.onclick=function(){p.type=p.type==='password'?'text':'password';say()};say();p.parentNode.appendChild(b)}
var w=d.querySelector('[data-back]');
if(w&&window.fetch){var ask=function(){var c=window.AbortController?new AbortController():null,t=setTimeout(function(){if(c)c.abort()},4000);
fetch('/state',{cache:'no-store',signal:c?c.signal:undefined}).then(function(r){return r.text()}).then(function(s){if(s==='ready')location.replace(w.getAttribute('data-back'))}).catch(function(){}).then(function(){clearTimeout(t);setTimeout(ask,3000)})};setTimeout(ask,3000)}
})(document);
`;

const hash = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** Content security policy: only inline content, and forms only to this server. */
const contentSecurityPolicy = [
  `default-src 'none'`,
  `style-src ${hash(style)}`,
  `script-src ${hash(script)}`,
  `connect-src 'self'`,
  `form-action 'self'`,
  `base-uri 'none'`,
  `frame-ancestors 'none'`,
].join('; ');

/** Escaped markup. Only this file makes it. */
export type Html = string & { readonly kind: unique symbol };

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Text as markup, for content and for attributes in quotes. */
export const escapeHtml = (text: string): Html =>
  text.replace(/[&<>"']/g, (sign) => ownValue(entities, sign) ?? '') as Html;

/** Template for markup: inserted texts are escaped, markup and lists of markup are not. */
export function html(parts: TemplateStringsArray, ...values: readonly (Html | readonly Html[] | Escaped)[]): Html {
  // Indentation is removed: the page must be small.
  const raw = parts.map((part) => part.replace(/\s*\n\s*/g, '\n'));
  return String.raw({ raw }, ...values.map(toHtml)) as Html;
}

/** A text to be escaped by {@link html}. */
type Escaped = { text: string };
export const plain = (text: string): Escaped => ({ text });

function toHtml(value: Html | readonly Html[] | Escaped): string {
  if (typeof value === 'string') return value;
  return 'text' in value ? escapeHtml(value.text) : value.join('');
}

export const nothing = '' as Html;

/** A text with placeholders such as `{name}` filled in; each value is isolated, because its writing direction may differ. */
export function fill(text: string, names: Readonly<Record<string, string>>): Html {
  const marked = escapeHtml(text).replace(
    /\{(\w+)\}/g,
    (_, key: string) => html`<bdi>${plain(ownValue(names, key) ?? '')}</bdi>`,
  );
  return marked as Html;
}

/** A text with its placeholders filled in as plain text, for a page title. */
export const fillText = (text: string, names: Readonly<Record<string, string>>): string =>
  text.replace(/\{(\w+)\}/g, (_, key: string) => ownValue(names, key) ?? '');

/** Headers of every page for people. */
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
