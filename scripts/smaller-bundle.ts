// Reduces the memory that a bundle needs at run time.
import type { Plugin } from 'rolldown';

/** Replacements for modules of the backend that it never calls. */
const unusedByBackend: Readonly<Record<string, string>> = {
  // The server has its own validation and serialisation, but these modules would still be loaded.
  '@fastify/ajv-compiler': 'module.exports = null;',
  '@fastify/fast-json-stringify-compiler': 'module.exports = null;',
};
/** An `import` reads all exports, which makes Node load a WebSocket client of 6 MB. */
const usedOfHttp: Readonly<Record<string, string>> = {
  'node:http': `
    const http = process.getBuiltinModule('node:http');
    export default http;
    export const { Agent, createServer, get, request, STATUS_CODES } = http;
  `,
};
const replaced = '\0replaced:';

const replacing = (replacements: Readonly<Record<string, string>>): Plugin => ({
  name: 'replacing',
  resolveId: (id, _importer, { kind }) =>
    id in replacements && !(id.startsWith('node:') && kind === 'require-call') ? `${replaced}${id}` : null,
  load: (id) => (id.startsWith(replaced) ? (replacements[id.slice(replaced.length)] ?? null) : null),
});

/** With one character outside Latin-1, the engine stores the whole file with two bytes per character. */
const inAscii: Plugin = {
  name: 'in-ascii',
  generateBundle: (_options, bundle) => {
    for (const piece of Object.values(bundle)) {
      if (piece.type === 'chunk') piece.code = piece.code.replace(/[^\0-\x7f]/g, escapeUnit);
    }
  },
};
const escapeUnit = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

export const smallerAgent: Plugin[] = [replacing(usedOfHttp), inAscii];
export const smallerBackend: Plugin[] = [replacing({ ...usedOfHttp, ...unusedByBackend }), inAscii];
