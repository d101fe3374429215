import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { collectBytes } from '@station/kit/collect-bytes';
import { ownValue } from '@station/protocol/own-value';
import { followRedirects } from '../../core/adapters/http-request.ts';
import type { PageKind, PageReading } from '../surface-ports.ts';
import { findBrokenScript, type PageScript } from './script-check.ts';

type Page = {
  files: AskedFile[];
  /** The scripts that stand in the page itself. */
  own: PageScript[];
  /** It says itself where modules are (HTML standard, "Import maps"). */
  hasImportMap: boolean;
  /** What shows its content; null: nothing, it is blank. */
  shownBy: PageKind | null;
};
type AskedFile = { url: URL; isModule: boolean; isStyle: boolean };
type Got = { status: number; type: string; body: Uint8Array; url: URL };

/** Browsers get files as they are stored compressed, so these are the ones that count. */
const unpackers = { gzip: gunzipSync, br: brotliDecompressSync };
const requestMs = 5000;
/** A container that was taken over may answer anything: what is read costs little, and beyond that nothing is asked for. */
const maxFileBytes = 4 * 1024 * 1024;
const maxBytes = 32 * 1024 * 1024;
const maxScriptBytes = 8 * 1024 * 1024;
const maxFiles = 400;
const atOnce = 4;

/**
 * Fetches a page with its scripts and style sheets, and what its modules import, also later: a chunk that is missing breaks the page
 * that needs it. Only files of the page's own origin. Then looks whether the scripts could start; none of them runs.
 * @param options.depth `first`: only what the page itself names.
 * @throws the reason of the signal.
 */
export async function readPage(
  address: URL,
  { signal, depth }: { signal: AbortSignal; depth: 'first' | 'all' },
): Promise<PageReading> {
  const got = await get(address, signal);
  if (got === null) return broken('the page does not come');
  if (got.status !== 200) return broken(`the page answers ${got.status}`);
  if (!isHtml(got.type)) return broken('there is no page at the start address');
  const { files, own, hasImportMap, shownBy } = await parsePage(Buffer.from(got.body).toString('utf8'), got.url);
  if (shownBy === null) return broken('the page is blank');
  const isFollowed = depth === 'all' && !hasImportMap;
  const following = { signal, isFollowed, origin: got.url.origin };
  if (isFollowed) for (const one of own) files.push(...(await importsOf(one, following.origin)));
  const { fault, scripts } = await followFiles(files, following);
  if (fault !== null) return broken(fault);
  const unusable = isFollowed ? await findBrokenScript([...own, ...scripts], signal) : null;
  return unusable === null ? { kind: shownBy, fault } : broken(`${nameOf(new URL(unusable))} cannot start`);
}

const broken = (fault: string): PageReading => ({ kind: null, fault });
const isHtml = (type: string): boolean => /^text\/html\b/i.test(type);

/** Null: no whole answer in time. */
async function get(address: URL, signal: AbortSignal): Promise<Got | null> {
  try {
    const bounded = AbortSignal.any([signal, AbortSignal.timeout(requestMs)]);
    // Servers of single-page applications answer a wish for HTML with the page, whatever the address.
    const headers = { accept: '*/*', 'accept-encoding': Object.keys(unpackers).join(', ') };
    const followed = await followRedirects(address, { signal: bounded, headers });
    if (followed.kind === 'rejected') return null;
    const { response, url } = followed;
    const sent = await collectBytes(response.body, maxFileBytes);
    response.body.destroy();
    if (sent === null) return null;
    const unpack = ownValue(unpackers, response.headers['content-encoding'] ?? '') ?? (() => sent);
    const body = unpack(sent, { maxOutputLength: maxFileBytes });
    return { status: response.status, type: response.headers['content-type'] ?? '', body, url };
  } catch {
    signal.throwIfAborted();
    return null;
  }
}

/** Types of `<script>` that are programs (HTML standard, "JavaScript MIME type"). */
const programTypes = /^$|^module$|^(text|application)\/(x-)?(java|ecma)script$/i;
/** Elements that show something without any text. */
const visible = new Set(['img', 'svg', 'canvas', 'iframe', 'video', 'object', 'embed', 'input', 'button', 'picture']);
/** Elements whose text nobody sees. */
const unseen = new Set(['head', 'script', 'style', 'template', 'noscript', 'title']);

async function parsePage(html: string, address: URL): Promise<Page> {
  const { Parser } = await import('htmlparser2');
  const files: AskedFile[] = [];
  const own: PageScript[] = [];
  let hasImportMap = false;
  /** The one that is open, without a file. */
  let script: PageScript | null = null;
  let base = address;
  let scripts: 'modules' | 'scripts' | null = null;
  let hasContent = false;
  const hidden: string[] = [];
  const addFile = (reference: string, more: Omit<AskedFile, 'url'>): void => {
    const url = URL.parse(reference, base.href);
    if (url?.origin === address.origin) files.push({ url, ...more });
  };
  const onScript = ({ type = '', src, nomodule }: Record<string, string>): void => {
    hasImportMap ||= type.trim().toLowerCase() === 'importmap';
    if (!programTypes.test(type.trim()) || nomodule !== undefined) return;
    const isModule = type.trim().toLowerCase() === 'module';
    scripts = isModule ? 'modules' : (scripts ?? 'scripts');
    if (src !== undefined) addFile(src, { isModule, isStyle: false });
    else script = { url: `${address.href}#${own.length}`, base: base.href, text: '', isModule };
  };
  const onLink = ({ rel = '', href }: Record<string, string>): void => {
    const relations = rel.toLowerCase().split(/\s+/);
    const isModule = relations.includes('modulepreload');
    const isStyle = relations.includes('stylesheet') && !relations.includes('alternate');
    if (href !== undefined && (isModule || isStyle)) addFile(href, { isModule, isStyle });
  };
  const parser = new Parser({
    onopentag: (name, attributes) => {
      if (name === 'base') base = URL.parse(attributes['href'] ?? '', address.href) ?? base;
      if (name === 'script') onScript(attributes);
      if (name === 'link') onLink(attributes);
      if (unseen.has(name)) hidden.push(name);
      else if (hidden.length === 0 && visible.has(name)) hasContent = true;
    },
    ontext: (text) => {
      if (hidden.length === 0 && text.trim() !== '') hasContent = true;
      if (script !== null) script.text += text;
    },
    onclosetag: (name) => {
      if (hidden.at(-1) === name) hidden.pop();
      if (script !== null && name === 'script') {
        own.push(script);
        script = null;
      }
    },
  });
  parser.end(html);
  return { files, own, hasImportMap, shownBy: hasContent ? 'text' : scripts };
}

type Following = { signal: AbortSignal; /** Whether imports are followed. */ isFollowed: boolean; origin: string };
type Followed = {
  /** Why one of the files, or of what they import, does not come. */
  fault: string | null;
  scripts: PageScript[];
};

async function followFiles(first: readonly AskedFile[], following: Following): Promise<Followed> {
  const asked = new Set<string>();
  const scripts: PageScript[] = [];
  let bytes = 0;
  let next = [...first];
  while (next.length > 0 && bytes < maxBytes) {
    const layer = next.filter(({ url }) => !asked.has(url.href) && asked.size < maxFiles && asked.add(url.href));
    next = [];
    for (let at = 0; at < layer.length; at += atOnce) {
      const readings = await Promise.all(layer.slice(at, at + atOnce).map((file) => readFile(file, following)));
      for (const { fault, size, script, imports } of readings) {
        if (fault !== null) return { fault, scripts };
        bytes += size;
        next.push(...imports);
        if (script !== null && bytes < maxScriptBytes) scripts.push(script);
      }
      if (bytes >= maxBytes) break;
    }
  }
  return { fault: null, scripts };
}

type FileReading = { fault: string | null; size: number; script: PageScript | null; imports: AskedFile[] };

async function readFile(file: AskedFile, { signal, isFollowed, origin }: Following): Promise<FileReading> {
  const got = await get(file.url, signal);
  const fault = got === null ? 'does not come' : faultOf(got, file);
  if (got === null || fault !== null)
    return { fault: `${nameOf(file.url)} ${fault}`, size: 0, script: null, imports: [] };
  const size = got.body.length;
  // Modules of other types than programs have no imports, and another form.
  if (!isFollowed || file.isStyle || !/\b(java|ecma)script\b/i.test(got.type))
    return { fault, size, script: null, imports: [] };
  const text = Buffer.from(got.body).toString('utf8');
  const script = { url: file.url.href, base: got.url.href, text, isModule: file.isModule };
  return { fault, size, script, imports: await importsOf(script, origin) };
}

function faultOf({ status, type, body }: Got, { isStyle }: AskedFile): string | null {
  if (status !== 200) return `answers ${status}`;
  if (isHtml(type)) return 'is missing: a web page comes instead';
  // Storage that lost what was written shows a file of its length, or none, without content.
  return !isStyle && (body.length === 0 || body[0] === 0) ? 'is empty' : null;
}

async function importsOf({ text, base, isModule }: PageScript, origin: string): Promise<AskedFile[]> {
  if (!isModule) return [];
  const { parse } = await import('es-module-lexer/minimal/js');
  let found: ReturnType<typeof parse>[0];
  try {
    [found] = parse(text);
  } catch {
    // Browsers may know more of the language than the lexer.
    return [];
  }
  const specifiers = found.flatMap(({ n }) => (n !== undefined && /^(\.{0,2}\/|https?:)/.test(n) ? [n] : []));
  const urls = specifiers.flatMap((specifier) => URL.parse(specifier, base) ?? []);
  return urls.filter((url) => url.origin === origin).map((url) => ({ url, isModule: true, isStyle: false }));
}

/** Only harmless characters get into logs and answers. */
function nameOf({ pathname }: URL): string {
  const name = pathname.slice(pathname.lastIndexOf('/') + 1);
  return `the page's ${/^[\w.-]{1,80}$/.test(name) ? `file ${name}` : name === '' ? 'own script' : 'file of a long name'}`;
}
