import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import { readPage } from './web-page.ts';

/** Path → body, or body with its status and type. */
type Site = Record<string, string | { status?: number; type?: string; body?: string; location?: string }>;

const types: Record<string, string> = { js: 'text/javascript', css: 'text/css' };

async function look(site: Site, depth: 'first' | 'all' = 'all'): Promise<{ asked: string[]; result: string }> {
  const asked: string[] = [];
  const server = createServer(({ url = '' }, response) => {
    asked.push(url);
    const given = site[url] ?? { status: 404, body: 'not found', type: 'text/plain' };
    const { status = 200, type, body = '', location } = typeof given === 'string' ? { body: given } : given;
    const usual = types[url.slice(url.lastIndexOf('.') + 1)] ?? 'text/html; charset=utf-8';
    response
      .writeHead(status, { 'content-type': type ?? usual, ...(location !== undefined && { location }) })
      .end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  try {
    const { signal } = new AbortController();
    const { kind, fault } = await readPage(new URL(`http://127.0.0.1:${port}/`), { signal, depth });
    return { asked, result: kind ?? fault };
  } finally {
    server.close();
  }
}

const shell = '<head><title>Home</title></head><body><div id="root"></div><noscript>It needs scripts.</noscript>';
const app = `${shell}<script type=module src=/a/start.js></script><link rel=stylesheet href=/a/start.css>`;
const files: Site = {
  '/': app,
  '/a/start.css': 'body {}',
  '/a/start.js': 'import {x} from "./shared.js"; const later = () => import("./page.js"); const y = import(x);',
  '/a/shared.js': 'export const x = "./not-a-file.js";',
  '/a/page.js': 'import "/a/shared.js"; export default 1;',
};

describe('a page', () => {
  test('is whole with everything that it needs, now and later', async () => {
    const { asked, result } = await look(files);
    assert.equal(result, 'modules');
    assert.deepEqual(asked.sort(), ['/', '/a/page.js', '/a/shared.js', '/a/start.css', '/a/start.js']);
  });

  test('is read only to what it names itself, when asked so', async () => {
    assert.deepEqual((await look(files, 'first')).asked.sort(), ['/', '/a/start.css', '/a/start.js']);
  });

  const broken: readonly [string, Site, RegExp][] = [
    ['does not come', { '/': { status: 502 } }, /answers 502/],
    ['is something else', { '/': { type: 'application/json', body: '{}' } }, /no page at the start/],
    ['is empty', { '/': '' }, /is blank/],
    ['has only its shell', { '/': shell }, /is blank/],
    ['has white space and comments only', { '/': '<body>\n <!-- Home --> <style>p {}</style>' }, /is blank/],
    ['has data where its program was', { '/': `${shell}<script type="application/json">{}</script>` }, /is blank/],
    ['lacks its script', { ...files, '/a/start.js': { status: 404 } }, /start\.js answers 404/],
    ['lacks its style sheet', { ...files, '/a/start.css': { status: 500 } }, /start\.css answers 500/],
    ['lacks what a module imports', { ...files, '/a/shared.js': { status: 404 } }, /shared\.js answers 404/],
    ['lacks a chunk of a later page', { ...files, '/a/page.js': { status: 403 } }, /page\.js answers 403/],
    [
      'comes itself in place of a chunk',
      { ...files, '/a/page.js': { type: 'text/html', body: app } },
      /page\.js is miss/,
    ],
    ['has an empty script', { ...files, '/a/page.js': '' }, /page\.js is empty/],
    ['has a script of zero bytes', { ...files, '/a/page.js': '\0\0\0\0' }, /page\.js is empty/],
    [
      'has a script that was cut off',
      { ...files, '/a/page.js': 'export default function () {' },
      /page\.js cannot start/,
    ],
    ['has a script of conflicts', { ...files, '/a/start.js': '<<<<<<< ours\nx()' }, /start\.js cannot start/],
    [
      'has an old script that was cut off',
      { '/': '<script src=/x.js></script>', '/x.js': 'if (' },
      /x\.js cannot start/,
    ],
    ['has the chunk of another build', { ...files, '/a/shared.js': 'export const y = 1' }, /start\.js cannot start/],
    [
      'has a later chunk of another build',
      { ...files, '/a/page.js': 'import a from "./shared.js"' },
      /page\.js cannot/,
    ],
    ['has a script of its own with an error', { '/': `${shell}<script>draw(</script>` }, /own script cannot start/],
    [
      'has a module of its own that imports nothing',
      { '/': `${shell}<script type=module>import "/gone.js"</script>` },
      /gone\.js answers 404/,
    ],
    ['leads round in a circle', { '/': { status: 302, location: '/' } }, /does not come/],
  ];
  for (const [name, site, fault] of broken) {
    test(`that ${name} is not shown`, async () => assert.match((await look(site)).result, fault));
  }

  const odd: readonly [string, Site, string][] = [
    ['text alone', { '/': '<p>Hello' }, 'text'],
    ['plain words without any tag', { '/': 'station 1.0.0\n' }, 'text'],
    ['a picture', { '/': '<body><img src=/x.png>' }, 'text'],
    ['a script in the page', { '/': `${shell}<script>draw()</script>` }, 'scripts'],
    ['a script of another server', { '/': '<script src=https://cdn.example/x.js></script>' }, 'scripts'],
    [
      'an old script for old browsers',
      { '/': `${app}<script nomodule src=/old.js></script>`, ...rest(files) },
      'modules',
    ],
    ['an address that leads on', { ...files, '/': { status: 302, location: '/home/' }, '/home/': app }, 'modules'],
    [
      'relative addresses and a base',
      { '/': '<base href="/a/"><script type=module src=page.js></script>', '/a/page.js': 'export {}' },
      'modules',
    ],
    ['an import of a package by name', { ...files, '/a/page.js': 'import "react"; import(where)' }, 'modules'],
    [
      'modules that import each other',
      { ...files, '/a/shared.js': 'import "./start.js"; export const x = 1' },
      'modules',
    ],
    [
      'names passed on',
      { ...files, '/a/shared.js': 'export * from "./more.js"', '/a/more.js': 'export let x' },
      'modules',
    ],
    ['waits and regular expressions', { ...files, '/a/page.js': 'await 1; export const r = /[\\w--_]/v' }, 'modules'],
    [
      'a style sheet as a module',
      { ...files, '/a/page.js': 'import x from "./x.css" with { type: "css" }', '/a/x.css': 'p {}' },
      'modules',
    ],
    [
      'a map of its modules',
      {
        '/': '<script type=importmap>{"imports":{"/x.js":"/y.js"}}</script><script type=module>import "/x.js"</script>',
      },
      'modules',
    ],
    ['a name of another server', { ...files, '/a/page.js': 'import { x } from "https://cdn.example/x.js"' }, 'modules'],
    ['nothing but a template of a script', { '/': '<p>Hi<script type=text/x-template>{{</script>' }, 'text'],
    ['an empty style sheet', { ...files, '/a/start.css': '' }, 'modules'],
  ];
  for (const [name, site, kind] of odd) {
    test(`with ${name} is shown`, async () => assert.equal((await look(site)).result, kind));
  }

  test('of hundreds of files, and one that has no end, costs little', async () => {
    const scripts = Array.from({ length: 900 }, (_, at) => `<script src=/${at}.js></script>`).join('');
    const many = await look({ '/': scripts, ...Object.fromEntries(scriptFiles(900)) });
    assert.equal(many.result, 'scripts');
    assert.ok(many.asked.length <= 401, `${many.asked.length} were asked for`);
    const large = await look({ ...files, '/a/page.js': 'x'.repeat(5 * 1024 * 1024) });
    assert.match(large.result, /page\.js does not come/);
    const megabytes = 'x'.repeat(4 * 1000 * 1000);
    const heavy = await look({ '/': scripts, ...Object.fromEntries(scriptFiles(900, megabytes)) });
    assert.ok(heavy.asked.length < 20, `${heavy.asked.length} were asked for`);
  });

  test('names only harmless characters of a file', async () => {
    const site = { '/': `${shell}<script src="/%0aFORGED.js"></script>` };
    assert.equal((await look(site)).result, "the page's file of a long name answers 404");
  });
});

function rest({ '/': _page, ...others }: Site): Site {
  return others;
}

const scriptFiles = (count: number, body = 'draw()'): [string, string][] =>
  Array.from({ length: count }, (_, at) => [`/${at}.js`, body]);
