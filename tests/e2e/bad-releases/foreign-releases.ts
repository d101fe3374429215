import type { Variant } from '../../rig/image-variant.ts';
import type { BadRelease, Changes, GoodRelease } from './offered.ts';

// Releases of a stack that is not Station's: a page with a script, no WebSocket, no log-in, no devices. It is judged by what it has.

type Bad = readonly [name: string, changes: Changes, code: string, reason: RegExp];

const file = (path: string, content: string): Variant => ({ files: [{ path: `www/${path}`, content }] });
const command = (script: string): Variant => ({ config: { Cmd: ['/bin/sh', '-c', script] } });
const serve = 'exec httpd -f -p 80 -h /www';
const withScript = '<div id=app></div><script type=module src=/app.js></script>';
const unhealthy = 'release_unhealthy';
const broken = 'release_page_broken';

const bad: readonly Bad[] = [
  ['does not start', { backend: command('exit 1') }, unhealthy, /crashing/],
  ['ends without an error', { backend: command('exit 0') }, unhealthy, /crashing|answer/],
  ['hangs', { backend: command('exec nc -ll -p 80 -e /hang') }, unhealthy, /answer/],
  ['does not listen', { backend: command('exec sleep 1000') }, unhealthy, /answer/],
  ['answers an error', { backend: command('exec nc -ll -p 80 -e /unhealthy') }, unhealthy, /503/],
  ['crashes every second', { backend: command(`httpd -p 80 -h /www; sleep 1; exit 1`) }, unhealthy, /crashing/],
  ['has a program that is not there', { backend: { config: { Cmd: ['/no-program'] } } }, unhealthy, /crashing/],
  ['has a page without its script', { backend: file('index.html', '<div id=app></div>') }, broken, /blank/],
  ['has no page', { backend: command(`rm /www/index.html; ${serve}`) }, broken, /404/],
  ['has an empty script', { backend: file('app.js', '') }, broken, /app\.js is empty/],
  ['imports what is not there', { backend: file('app.js', 'import "./more.js"') }, broken, /more\.js answers 404/],
];

const good: readonly (readonly [string, Changes])[] = [
  ['changes nothing', { backend: {} }],
  ['starts after five seconds', { backend: command(`sleep 5; ${serve}`) }],
  ['needs a second start', { backend: command(`[ -e /once ] && ${serve}; touch /once; exit 1`) }],
  [
    'does not end when it is asked to',
    { backend: command("trap '' TERM; httpd -f -p 80 -h /www & while :; do sleep 1; done") },
  ],
  ['runs as another user', { backend: { config: { Env: ['USER=somebody'] } } }],
  ['has another script', { backend: file('app.js', 'import("./more" + ".js")') }],
  ['shows text', { backend: file('index.html', '<p>Hello') }],
  ['has a picture alone', { backend: file('index.html', '<img src=/picture.png>') }],
  [
    'loads its script from elsewhere',
    { backend: file('index.html', '<script type=module src=//cdn.example/a.js></script>') },
  ],
  ['has a second page that is not whole', { backend: file('other.html', '<script src=/missing.js></script>') }],
  ['imports a package by its name', { backend: file('app.js', 'import "react"; import(where())') }],
  ['writes its tags in capitals', { backend: file('index.html', '<SCRIPT TYPE=MODULE SRC=/app.js></SCRIPT>') }],
  [
    'has a script for old browsers alone',
    { backend: file('index.html', `${withScript}<script nomodule src=/old.js></script>`) },
  ],
  [
    'has data beside its script',
    { backend: file('index.html', `${withScript}<script type=application/json>{}</script>`) },
  ],
  ['has a frontend of its own', { frontend: file('index.html', 'other') }],
  ['has a frontend that nobody asks', { frontend: command('exec sleep 100000') }],
];

/** The release that is installed before: a page with a script, which the rig's own has not. */
export const firstOfForeign: Changes = {
  backend: {
    files: [
      { path: 'www/index.html', content: withScript },
      { path: 'www/app.js', content: 'draw()' },
    ],
  },
};

/** Releases are variants of the first one, whose page is text: they get the page with a script, unless they have a file of their own. */
function withPage({ backend, ...more }: Changes): Changes {
  const own = backend?.files ?? [];
  const usual = (firstOfForeign.backend?.files ?? []).filter(({ path }) => !own.some((one) => one.path === path));
  return { ...more, backend: { ...backend, files: [...usual, ...own] } };
}

export const badOfForeign: readonly BadRelease[] = bad.map(([name, changes, ...why]) => [
  name,
  () => withPage(changes),
  ...why,
]);

export const goodOfForeign: readonly GoodRelease[] = good.map(([name, changes]) => [name, () => withPage(changes)]);
