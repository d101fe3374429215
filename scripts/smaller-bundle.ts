// Reduces the memory that a bundle needs at run time.
import type { Plugin } from 'rolldown';
import { parseAst } from 'rolldown/parseAst';

/** Replacements for modules of the agent that it never calls: it keeps the text of its whole bundle in memory. */
const unusedByAgent: Readonly<Record<string, string>> = {
  // For objects that a program offers on D-Bus, and for the proxies of others; the agent has neither.
  'fast-xml-parser': 'export class XMLParser {}',
  'fast-xml-builder': `export default class { build() { return '<node/>'; } }`,
  // Pino's outputs in other threads.
  'thread-stream': 'module.exports = null;',
  worker_threads: 'module.exports = { isMainThread: true };',
  // Traces beside the metrics.
  '@opentelemetry/api': 'module.exports = {};',
};
/** Replacements for modules of the backend that it never calls. */
const unusedByBackend: Readonly<Record<string, string>> = {
  // The server has its own validation and serialisation, but these modules would still be loaded.
  '@fastify/ajv-compiler': 'module.exports = null;',
  '@fastify/fast-json-stringify-compiler': 'module.exports = null;',
  // For certificates of passkeys, which the station refuses unread.
  '@peculiar/x509': 'module.exports = {};',
  '@peculiar/asn1-android': 'module.exports = {};',
};
const replaced = '\0replaced:';

const replacing = (replacements: Readonly<Record<string, string>>): Plugin => ({
  name: 'replacing',
  resolveId: (id) => (id in replacements ? `${replaced}${id}` : null),
  load: (id) => (id.startsWith(replaced) ? (replacements[id.slice(replaced.length)] ?? null) : null),
});

const rewriting = (name: string, rewrite: (code: string) => string): Plugin => ({
  name,
  generateBundle: (_options, bundle) => {
    for (const piece of Object.values(bundle)) if (piece.type === 'chunk') piece.code = rewrite(piece.code);
  },
});

/**
 * Replaces each `import` of a module of Node by a call that returns it. An `import` reads all exports of the module, which
 * loads more modules: a WebSocket client of 6 MB with `node:http`, Web Cryptography with `node:crypto`.
 */
function withoutImportsOfNode(code: string): string {
  let result = '';
  let end = 0;
  for (const statement of parseAst(code).body) {
    if (statement.type !== 'ImportDeclaration' || !statement.source.value.startsWith('node:')) continue;
    const module = `globalThis.process.getBuiltinModule('${statement.source.value}')`;
    const names = statement.specifiers.map((one) =>
      one.type === 'ImportSpecifier'
        ? `const{${one.imported.type === 'Identifier' ? one.imported.name : one.imported.value}:${one.local.name}}=${module};`
        : `const ${one.local.name}=${module};`,
    );
    result += code.slice(end, statement.start) + names.join('');
    end = statement.end;
  }
  return result + code.slice(end);
}

/** With one character outside Latin-1, the engine stores the whole file with two bytes per character. */
const inAscii = (code: string): string =>
  code.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

const always = [rewriting('without-imports-of-node', withoutImportsOfNode), rewriting('in-ascii', inAscii)];

export const smallerAgent: Plugin[] = [replacing(unusedByAgent), ...always];
export const smallerBackend: Plugin[] = [replacing(unusedByBackend), ...always];
