import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig, loadEnv, type Plugin, type Rolldown } from 'vite';
import { areas } from './src/i18n/areas.ts';

const here = import.meta.dirname;

/** What the entry loads at once, home among it. */
const firstLoadEntry = /\/src\/app\/show-app\.tsx$/;

/** `npm run dev -w @station/web` shows the page with the backend of BACKEND_URL (default: http://127.0.0.1:3000) behind it. */
export default defineConfig(({ mode }) => {
  const env = loadEnv(mode, here, ['BACKEND_URL', 'WEB_PORT']);
  const backend = env['BACKEND_URL'] ?? 'http://127.0.0.1:3000';
  const start = modulesReachedFrom(/\/src\/main\.ts$/);
  const firstLoad = modulesReachedFrom(firstLoadEntry);
  return {
    root: here,
    resolve: { alias: { 'react-i18next': join(here, 'src/i18n/translation.ts') } },
    plugins: [
      react(),
      tailwindcss(),
      start.plugin,
      firstLoad.plugin,
      preloadedFirstLoad(),
      compressedFiles(),
      shellWorker(),
      sizeLimits({
        firstBytes: 120_000,
        pageBytes: 30_000,
        alwaysBeside: ({ name }) => /^texts-[a-z]+-first$/.test(name),
        pages: ({ isDynamicEntry, facadeModuleId }) =>
          isDynamicEntry && /-(page|place)\.tsx$/.test(facadeModuleId ?? ''),
      }),
    ],
    json: { namedExports: false },
    build: {
      outDir: join(here, '../../dist/web'),
      emptyOutDir: true,
      target: ['chrome116', 'firefox124', 'safari17.4'],
      // A data: address would need an exception in the Content-Security-Policy.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      // One file compresses a tenth smaller than its fifty parts, and home needs no second round trip.
      // Only what asks the station first is apart from it (src/main.ts).
      rolldownOptions: {
        // A page takes of the protocol's schemas only those that it checks something with.
        treeshake: { manualPureFunctions: ['Type'] },
        output: {
          codeSplitting: {
            groups: [
              { name: textChunk, debugName: 'texts', priority: 2 },
              { name: 'start', test: (id) => start.has(id) || id.startsWith('\0'), priority: 1 },
              { name: 'first-load', test: firstLoad.has },
            ],
          },
        },
      },
    },
    server: {
      host: '127.0.0.1',
      port: Number(env['WEB_PORT'] ?? 5173),
      proxy: {
        '/api': backend,
        '/provisioning': backend,
        '/ws': { target: backend, ws: true },
      },
    },
  };
});

/** What is loaded together of the texts of a language is one chunk (src/i18n/languages.ts). */
function textChunk(id: string): string | null {
  const language = /\/(?:i18n\/|condition-titles-)([a-z]{2})[./]/.exec(id)?.[1];
  if (language === undefined) return null;
  return areas.later.some((area) => id.endsWith(`/${area}.json`))
    ? `texts-${language}-later`
    : `texts-${language}-first`;
}

/** It names the icons of all pages. Those that home draws come with the modules that use them. */
const allIcons = /\/lucide-react\/dist\/esm\/lucide-react\.mjs$/;

/** The modules that the matching ones import at once, themselves included. Complete when chunks are formed. */
function modulesReachedFrom(start: RegExp): { plugin: Plugin; has: (id: string) => boolean } {
  const reached = new Set<string>();
  const plugin: Plugin = {
    name: 'first-load',
    apply: 'build',
    buildEnd() {
      const waiting = [...this.getModuleIds()].filter((id) => start.test(id));
      for (const id of waiting) {
        if (reached.has(id)) continue;
        reached.add(id);
        if (!allIcons.test(id)) waiting.push(...(this.getModuleInfo(id)?.importedIds ?? []));
      }
    },
  };
  return { plugin, has: (id) => reached.has(id) };
}

/** The page names the file that its entry would name only later, so that both are fetched at the same time. */
function preloadedFirstLoad(): Plugin {
  return {
    name: 'preloaded-first-load',
    apply: 'build',
    transformIndexHtml: {
      order: 'post',
      handler: (_html, { bundle = {} }) => {
        const file = Object.values(bundle).find((one) => one.type === 'chunk' && one.name === 'first-load');
        if (file === undefined) throw new Error('preloaded-first-load found no chunk of this name');
        const attrs = { rel: 'modulepreload', crossorigin: true, href: `/${file.fileName}` };
        return [{ tag: 'link', attrs, injectTo: 'head' }];
      },
    },
  };
}

/** Puts `.br` and `.gz` beside each text file: the station sends them as they are, smaller than it could compress them itself. */
function compressedFiles(): Plugin {
  return {
    name: 'compressed-files',
    apply: 'build',
    enforce: 'post',
    writeBundle({ dir }, bundle) {
      for (const { fileName } of Object.values(bundle)) {
        if (dir === undefined || !/^assets\/.*\.(js|css)$/.test(fileName)) continue;
        const path = join(dir, fileName);
        const content = readFileSync(path);
        writeFileSync(`${path}.br`, brotliCompressSync(content));
        writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }));
      }
    },
  };
}

/** Tells `public/shell-worker.js` what to keep: the page, its files, and a name that changes with each of them. */
function shellWorker(): Plugin {
  return {
    name: 'shell-worker',
    apply: 'build',
    enforce: 'post',
    writeBundle({ dir }, bundle) {
      if (dir === undefined) return;
      const entry = /<script [^>]*src="([^"]+)"/.exec(readFileSync(join(dir, 'index.html'), 'utf8'))?.[1];
      if (entry === undefined) this.error('shell-worker found no script in index.html');
      const assets = Object.keys(bundle).filter((name) => /^assets\/.*\.(js|css)$/.test(name));
      const names = [...assets.toSorted(), 'icon.svg'];
      const hash = createHash('sha256');
      for (const name of [...names, 'index.html']) hash.update(name).update(readFileSync(join(dir, name)));
      const release = { name: hash.digest('hex').slice(0, 16), entry, files: names.map((name) => `/${name}`) };
      const worker = readFileSync(join(here, 'public/shell-worker.js'), 'utf8');
      writeFileSync(join(dir, 'shell-worker.js'), `self.release = ${JSON.stringify(release)};\n${worker}`);
    },
  };
}

/**
 * Prints how much JavaScript home and the largest other page need, Brotli, and fails the build past a limit. The first load is the
 * entry with everything it imports at once (home among it), and the largest of the languages.
 */
function sizeLimits(options: {
  firstBytes: number;
  pageBytes: number;
  alwaysBeside: (chunk: Rolldown.OutputChunk) => boolean;
  pages: (chunk: Rolldown.OutputChunk) => boolean;
}): Plugin {
  return {
    name: 'size-limits',
    apply: 'build',
    generateBundle(_output, bundle) {
      const chunks = Object.values(bundle).filter((file) => file.type === 'chunk');
      const sizeOf = (names: Set<string>): number =>
        chunks
          .filter((chunk) => names.has(chunk.fileName))
          .reduce((sum, chunk) => sum + brotliCompressSync(chunk.code).length, 0);
      const entry = reach(
        chunks,
        chunks.filter((chunk) => chunk.isEntry || chunk.moduleIds.some((id) => firstLoadEntry.test(id))),
      );
      const largest = (wanted: (chunk: Rolldown.OutputChunk) => boolean): { name: string; bytes: number } =>
        chunks
          .filter(wanted)
          .map((chunk) => ({ name: chunk.name, bytes: sizeOf(reach(chunks, [chunk]).difference(entry)) }))
          .reduce((most, one) => (one.bytes > most.bytes ? one : most), { name: 'none', bytes: 0 });
      const language = largest(options.alwaysBeside);
      const page = largest(options.pages);
      const first = sizeOf(entry) + language.bytes;
      const kB = (bytes: number): string => `${(bytes / 1000).toFixed(1)} kB`;
      const line =
        `JavaScript, Brotli: first load ${kB(first)} of ${kB(options.firstBytes)} (texts ${kB(language.bytes)}), ` +
        `largest page ${page.name} ${kB(page.bytes)} of ${kB(options.pageBytes)}`;
      if (language.bytes === 0 || page.bytes === 0)
        this.error(`size-limits found no language or no page chunk. ${line}`);
      if (first > options.firstBytes || page.bytes > options.pageBytes) this.error(`Over budget: ${line}`);
      this.info(line);
    },
  };
}

function reach(chunks: Rolldown.OutputChunk[], from: Rolldown.OutputChunk[]): Set<string> {
  const seen = new Set<string>();
  const visit = (chunk: Rolldown.OutputChunk | undefined): void => {
    if (!chunk || seen.has(chunk.fileName)) return;
    seen.add(chunk.fileName);
    for (const name of chunk.imports) visit(chunks.find((other) => other.fileName === name));
  };
  for (const chunk of from) visit(chunk);
  return seen;
}
