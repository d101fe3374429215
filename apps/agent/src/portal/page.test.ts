import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { joinFailures } from '@station/protocol/agent-network';
import { languages } from '@station/protocol/languages';
import { type Network, ssidFromBytes, ssidFromText } from '../core/wifi-network.ts';
import { accessProblems } from './code-decide.ts';
import { formProblems } from './join-form.ts';
import { renderSearching, renderTrouble, renderTrying } from './other-pages.ts';
import { renderPage, untouched } from './page.ts';
import { network, quietView } from '../../testing/running-portal.ts';
import { texts } from './texts.ts';

const mostBytes = 30_000;
const radios = (page: string): string[] => page.match(/<input[^>]*type="radio"[^>]*>/g) ?? [];
const valuesOf = (page: string): string[] => radios(page).map((radio) => /value="([^"]*)"/.exec(radio)?.[1] ?? '');
const checkedOf = (page: string): string[] =>
  valuesOf(page).filter((_, index) => / checked/.test(radios(page)[index] ?? ''));

describe('the page to choose a network on', () => {
  it('lists the networks, the strongest first, and another one at the end', () => {
    const networks = [network('weak', 'wpa2', 20), network('strong', 'open', 90, true), network('fair', 'wpa3', 45)];
    const page = renderPage(texts.en, { ...quietView, networks }, untouched);
    assert.deepEqual(valuesOf(page), [
      `${ssidFromText('strong')}.open`,
      `${ssidFromText('fair')}.wpa3`,
      `${ssidFromText('weak')}.wpa2`,
      'other',
    ]);
    assert.deepEqual(checkedOf(page), []);
    for (const words of [
      'Strong signal · no password · saved',
      'Fair signal · password (WPA3)',
      'Weak signal · password',
    ])
      assert.ok(page.includes(words), words);
  });

  it('distinguishes networks of one name', () => {
    const networks = [network('Twin', 'wpa2', 50), network('Twin', 'open', 40)];
    const hex = ssidFromText('Twin');
    const page = renderPage(texts.en, { ...quietView, networks }, untouched);
    assert.deepEqual(valuesOf(page), [`${hex}.wpa2`, `${hex}.open`, 'other']);
  });

  it('shows what cannot be used, and why, but does not let it be chosen', () => {
    const page = renderPage(texts.en, quietView, untouched);
    assert.ok(page.includes('company login: cannot be used'));
    assert.equal(radios(page).filter((radio) => / disabled/.test(radio)).length, 1);
  });

  it('shows what to do when there is no network', () => {
    const page = renderPage(texts.en, { ...quietView, networks: [] }, untouched);
    assert.ok(page.includes(texts.en.noNetworks));
    assert.deepEqual(valuesOf(page), ['other']);
  });

  for (const failure of joinFailures) {
    it(`comes back after "${failure}" with the reason, the name and the network chosen`, () => {
      const lastJoin = { ssid: ssidFromText('Home'), isHidden: false, security: null, failure };
      const page = renderPage(texts.en, { ...quietView, lastJoin }, untouched);
      assert.ok(page.includes(texts.en.failures[failure].help));
      assert.match(page, /<section class="fault"[^>]*>\s*<h2>[^]*<bdi>Home<\/bdi>/);
      assert.match(page, /<title>[^<]*Home[^<]*<\/title>/);
      assert.deepEqual(checkedOf(page), [`${ssidFromText('Home')}.wpa2`]);
    });
  }

  it('keeps a network chosen that is not in reach any more', () => {
    const lastJoin = { ssid: ssidFromText('Gone'), isHidden: false, security: null, failure: 'not_found' as const };
    const page = renderPage(texts.en, { ...quietView, lastJoin }, untouched);
    assert.deepEqual(checkedOf(page), [ssidFromText('Gone')]);
    assert.ok(page.includes(texts.en.outOfReach));
  });

  it('chooses the same of two networks of one name again', () => {
    const networks = [network('Twin', 'open', 50), network('Twin', 'wpa2', 40)];
    const ssid = ssidFromText('Twin');
    const lastJoin = { ssid, isHidden: false, security: 'wpa2' as const, failure: 'wrong_password' as const };
    assert.deepEqual(checkedOf(renderPage(texts.en, { ...quietView, networks, lastJoin }, untouched)), [
      `${ssid}.wpa2`,
    ]);
  });

  it('keeps the security that was chosen for a typed name', () => {
    const ssid = ssidFromText('Behind');
    const lastJoin = { ssid, isHidden: true, security: 'open' as const, failure: 'not_found' as const };
    const page = renderPage(texts.en, { ...quietView, lastJoin }, untouched);
    assert.match(page, /<option value="open"\s+selected/);
  });

  it('fills a typed name in again', () => {
    const lastJoin = { ssid: ssidFromText('Be"hind'), isHidden: true, security: null, failure: 'not_found' as const };
    const page = renderPage(texts.en, { ...quietView, lastJoin }, untouched);
    assert.deepEqual(checkedOf(page), ['other']);
    assert.match(page, /name="name"\s+value="Be&quot;hind"/);
  });

  it('keeps what is chosen in the list, however weak it is', () => {
    const networks = Array.from({ length: 90 }, (_, index) => network(`Network number ${index}`, 'wpa2', 90 - index));
    const lastJoin = {
      ssid: ssidFromText('Network number 89'),
      isHidden: false,
      security: null,
      failure: 'timed_out' as const,
    };
    const page = renderPage(texts.en, { ...quietView, networks, lastJoin }, untouched);
    assert.deepEqual(checkedOf(page), [`${ssidFromText('Network number 89')}.wpa2`]);
    assert.ok(valuesOf(page).length < 90);
    assert.ok(page.includes(texts.en.moreNetworks));
  });

  for (const problem of formProblems) {
    it(`says what to do about "${problem}"`, () => {
      const chosen = { kind: 'network', ssid: ssidFromText('Home'), security: 'wpa2' } as const;
      const page = renderPage(texts.uk, quietView, { ...untouched, problem, chosen });
      assert.ok(page.includes(texts.uk.problems[problem].help.replaceAll("'", '&#39;')));
      assert.deepEqual(checkedOf(page), [`${ssidFromText('Home')}.wpa2`]);
    });
  }

  for (const problem of accessProblems) {
    it(`says what to do about "${problem}", and keeps what was typed`, () => {
      const view = { ...quietView, isOpen: true };
      const typed = { code: '"BCDF-2345', isConfirmed: true };
      const page = renderPage(texts.en, view, { ...untouched, problem, numbers: { left: '3', minutes: '10' }, typed });
      assert.ok(page.includes(`<h2>${texts.en.problems[problem].title}</h2>`));
      assert.doesNotMatch(page, /\{\w+\}(?=[^<]*<\/p>)/, 'every number is filled in');
      assert.match(page, /name="code"\s+value="&quot;BCDF-2345"/);
      assert.match(page, /name="confirm" value="yes" required\s+checked/);
    });
  }

  it('of an encrypted hotspot warns of nothing and asks for no code', () => {
    const page = renderPage(texts.en, quietView, untouched);
    assert.ok(!page.includes(texts.en.openHotspot));
    assert.doesNotMatch(page, /name="(code|confirm)"/);
  });

  it('of an open hotspot warns, and wants that to be confirmed; a new station needs no code', () => {
    const page = renderPage(texts.en, { ...quietView, isOpen: true, wasEverJoined: false }, untouched);
    assert.ok(page.indexOf(texts.en.openHotspot) < page.indexOf('action="/join"'), 'before anything is typed');
    assert.match(page, /type="checkbox" name="confirm" value="yes" required/);
    assert.doesNotMatch(page, /name="confirm"[^>]*checked|name="code"/);
  });

  it('of an open hotspot of a station in use asks for the code', () => {
    const page = renderPage(texts.uk, { ...quietView, isOpen: true }, untouched);
    assert.match(page, /name="code"\s+value=""[^>]*required/);
    assert.ok(page.includes(texts.uk.codeHint));
    assert.doesNotMatch(page, /aria-invalid/);
  });

  it('shows a password while it is typed only to who asks for that', () => {
    assert.match(renderPage(texts.en, quietView, untouched), /type="password"\s+id="password"/);
    assert.match(
      renderPage(texts.en, quietView, { ...untouched, isPasswordShown: true }),
      /type="text"\s+id="password"/,
    );
  });
});

const hostile = [
  `<script>alert(1)</script>`,
  `"><img src=x onerror=a()>`,
  `' onfocus='a()`,
  `&lt;b&gt;${'\u202e'}nwod`,
  `{name} {hotspot} $& $1`,
  '\u0000\u001b[2J\n',
  '\u2028\u200d\ufeff',
].map(ssidFromText);

describe('a name in the page', () => {
  for (const ssid of [...hostile, ssidFromBytes(Uint8Array.of(0xff, 0xc0, 0x3c, 0x22))]) {
    it(`is only a name: ${JSON.stringify(ssid)}`, () => {
      const view = {
        ...quietView,
        hotspotSsid: ssid,
        networks: [{ ssid, security: 'wpa2', signal: 50, isKnown: false } as Network],
        lastJoin: { ssid, isHidden: true, security: null, failure: 'failed' as const },
      };
      const tags = (page: string): string[] => page.match(/<\/?[a-z0-9]+/g) ?? [];
      const harmless = { ...view, hotspotSsid: '61', networks: [{ ...view.networks[0]!, ssid: '61' }] };
      const pages = [
        renderPage(texts.en, { ...view, lastJoin: null }, untouched),
        renderTrying(texts.en, view, ssid, true),
      ];
      const same = [
        renderPage(texts.en, { ...harmless, lastJoin: null }, untouched),
        renderTrying(texts.en, harmless, '61', true),
      ];
      for (const [index, page] of pages.entries()) {
        assert.deepEqual(tags(page), tags(same[index] ?? ''), 'the same elements as with a harmless name');
        assert.doesNotMatch(page, /[\u202a-\u202e\u2066-\u2069\u0000\u001b]/u);
      }
      assert.doesNotMatch(renderPage(texts.en, view, untouched), /<img|onfocus='|<script>alert/);
    });
  }
});

describe('the size of the page', () => {
  for (const language of languages) {
    it(`is at most 30 kB, with 200 networks of the worst names, in ${language}`, () => {
      const networks = Array.from({ length: 200 }, (_, index) => ({
        ssid: ssidFromBytes(Buffer.concat([Buffer.from([index]), Buffer.from('"'.repeat(31))])),
        security: 'wpa2-wpa3' as const,
        signal: 99 - (index % 90),
        isKnown: true,
      }));
      for (const failure of joinFailures) {
        const view = {
          ...quietView,
          isOpen: true,
          networks,
          lastJoin: { ssid: networks[150]?.ssid ?? '', isHidden: false, security: null, failure },
        };
        const size = Buffer.byteLength(renderPage(texts[language], view, untouched));
        assert.ok(size <= mostBytes, `${size} bytes`);
      }
    });
  }

  it('is well below that for what a street has', () => {
    const networks = Array.from({ length: 30 }, (_, index) => network(`Сусідська мережа ${index}`, 'wpa2', 90 - index));
    const page = renderPage(texts.uk, { ...quietView, networks }, untouched);
    assert.equal(valuesOf(page).length, 31, 'all of them are there');
    assert.ok(Buffer.byteLength(page) <= mostBytes);
  });
});

describe('the other pages', () => {
  it('show where the station will be and what to expect, and lead there with script and without', () => {
    const page = renderTrying(texts.uk, quietView, ssidFromText('Home'), false);
    for (const part of [
      'href="http://station.local/"',
      '<bdi>Station-1a2b</bdi>',
      '<bdi>Home</bdi>',
      'data-back="/?lang=uk"',
    ])
      assert.ok(page.includes(part), part);
    assert.match(page, /<noscript>\s*<meta http-equiv="refresh" content="\d+;url=\/\?lang=uk"/);
    assert.ok(!page.includes(texts.uk.trying.busy));
    assert.ok(renderTrying(texts.uk, quietView, '61', true).includes(texts.uk.trying.busy));
  });

  it('come back automatically from a search', () => {
    assert.match(renderSearching(texts.uk), /<meta http-equiv="refresh" content="2;url=\/searching\?lang=uk"/);
  });

  it('fetch nothing from anywhere', () => {
    const { origin, ...rest } = texts.en.refused;
    const pages = [
      renderPage(texts.en, quietView, untouched),
      renderSearching(texts.en),
      renderTrying(texts.en, quietView, '61', false),
      ...Object.values({ origin, ...rest }).map((trouble) => renderTrouble(texts.en, trouble, 'http://192.0.2.1/')),
    ];
    for (const page of pages) {
      assert.doesNotMatch(page, /\ssrc=|url\(|@import|\sstyle=|\son[a-z]+=|javascript:/i);
      assert.deepEqual(
        (page.match(/(href|action|formaction)="[^"]*"/g) ?? []).filter(
          (link) => !/="(\/|#[a-z]"|http:\/\/(192\.0\.2\.1|station\.local)\/)/.test(link),
        ),
        [],
      );
    }
  });
});
