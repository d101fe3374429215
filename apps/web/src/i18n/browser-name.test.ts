import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deviceNameOf } from './browser-name.ts';

test('common browsers and systems are recognised', () => {
  const webKit = 'AppleWebKit/537.36 (KHTML, like Gecko)';
  const samples: [userAgent: string | null, browser: string | null, system: string | null][] = [
    [`Mozilla/5.0 (Linux; Android 15; Pixel 9) ${webKit} Chrome/140.0.0.0 Mobile Safari/537.36`, 'Chrome', 'Android'],
    [
      `Mozilla/5.0 (Linux; Android 15) ${webKit} SamsungBrowser/28.0 Chrome/130.0.0.0 Safari/537.36`,
      'Samsung Internet',
      'Android',
    ],
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 Version/18.5 Mobile/15E148 Safari/604.1',
      'Safari',
      'iPhone',
    ],
    [
      'Mozilla/5.0 (iPad; CPU OS 18_5 like Mac OS X) AppleWebKit/605.1.15 CriOS/140.0 Mobile/15E148 Safari/604.1',
      'Chrome',
      'iPad',
    ],
    [
      `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${webKit} Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0`,
      'Edge',
      'Windows',
    ],
    [
      'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/18.5 Safari/605.1.15',
      'Safari',
      'macOS',
    ],
    ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 'Firefox', 'Linux'],
    ['curl/8.14.1', null, null],
    [null, null, null],
  ];
  for (const [userAgent, browser, system] of samples) assert.deepEqual(deviceNameOf(userAgent), { browser, system });
});
