import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readWebdavAddress, shownWebdavAddress } from './webdav-address-decide.ts';

test('an address is kept in ASCII with a slash at its end, whatever a person types', () => {
  for (const [typed, kept] of [
    ['https://nas.local', 'https://nas.local/'],
    [' https://nas.local/dav/ ', 'https://nas.local/dav/'],
    ['HTTPS://NAS.local:5006//dav///x', 'https://nas.local:5006/dav/x/'],
    ['http://nas:80/dav', 'http://nas/dav/'],
    ['davs://u1.your-storagebox.de/backup', 'https://u1.your-storagebox.de/backup/'],
    ['dav://nas/x', 'http://nas/x/'],
    ['http://[fd00::1]:8080/x', 'http://[fd00::1]:8080/x/'],
    ['https://münchen.example/x', 'https://xn--mnchen-3ya.example/x/'],
    ['https://a/Häuser [alt]', 'https://a/H%C3%A4user%20%5Balt%5D/'],
    ['https://a/H%c3%a4user%20%5Balt%5D', 'https://a/H%C3%A4user%20%5Balt%5D/'],
    [
      'https://a/Резервні копії',
      'https://a/%D0%A0%D0%B5%D0%B7%D0%B5%D1%80%D0%B2%D0%BD%D1%96%20%D0%BA%D0%BE%D0%BF%D1%96%D1%97/',
    ],
    ['https://a/50% neu#2?', 'https://a/50%25%20neu%232%3F/'],
    ['https://a/50%25%20neu', 'https://a/50%25%20neu/'],
    ['https://a/a%2Fb/100%', 'https://a/a%2Fb/100%25/'],
    ['https://a/H%E4user ü', 'https://a/H%E4user%20%C3%BC/'],
    ['https://a/remote.php/dav/files/anna@example.org', 'https://a/remote.php/dav/files/anna%40example.org/'],
    [String.raw`https://nas\share\x`, 'https://nas/share/x/'],
    ['https://a/x/../y/./%2e%2e/z', 'https://a/z/'],
    ['https://a/\ud800', 'https://a/%EF%BF%BD/'],
  ] as const) {
    const url = readWebdavAddress(typed)?.url;
    assert.equal(url, kept);
    assert.equal(readWebdavAddress(kept)?.url, kept, 'applied again it changes nothing');
    assert.equal(readWebdavAddress(shownWebdavAddress(kept))?.url, kept, 'what is shown is the same address');
  }
});

test('people are shown their letters', () => {
  const { url = '' } = readWebdavAddress('https://a/Резервні копії [1]/100%41/50%25/H%E4') ?? {};
  assert.equal(shownWebdavAddress(url), 'https://a/Резервні копії [1]/100A/50%25/H%E4/');
});

test('what is no address is refused', () => {
  for (const typed of [
    '',
    'nas.local/dav',
    '//nas/dav',
    'https://',
    'https:///dav',
    'ftp://nas/',
    'file:///etc',
    'constructor://a/',
    'https://a b/',
  ])
    assert.equal(readWebdavAddress(typed), null, typed);
});

test('a log-in in the address is no part of it', () => {
  assert.deepEqual(readWebdavAddress('https://anna:p%40ss:w@nas/dav'), {
    url: 'https://nas/dav/',
    username: 'anna',
    password: 'p@ss:w',
  });
  assert.deepEqual(readWebdavAddress('https://anna@nas'), { url: 'https://nas/', username: 'anna', password: null });
});
