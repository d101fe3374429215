import * as judge from './deciders.ts';
import type { Decider } from './deciders.ts';

/** One request as a platform sends it, with that platform's rule for the answer. */
export type Probe = { platform: string; host: string; path: string; headers: readonly string[]; decide: Decider };

const apple = 'User-Agent: CaptiveNetworkSupport-479.60.1 wispr';
const android = [
  'User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/60.0.3112.32 Safari/537.36',
  'Connection: Keep-Alive',
  'Accept-Encoding: gzip',
];
const dalvik = [
  'User-Agent: Dalvik/2.1.0 (Linux; U; Android 13; SM-A536B Build/TP1A.220624.014)',
  'Connection: Keep-Alive',
  'Accept-Encoding: gzip',
];
const ncsi = ['Connection: Close', 'User-Agent: Microsoft NCSI'];
const chrome = [
  'Connection: keep-alive',
  'Pragma: no-cache',
  'Cache-Control: no-cache',
  'Accept-Encoding: gzip, deflate',
];
const firefox = [
  'User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0',
  'Accept: */*',
  'Accept-Language: uk,en-US;q=0.7,en;q=0.3',
  'Accept-Encoding: gzip, deflate',
  'Cache-Control: no-cache',
  'Pragma: no-cache',
  'Connection: keep-alive',
];
const visit = [
  'User-Agent: Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36',
  'Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  'Accept-Language: en-GB,en;q=0.9',
  'Upgrade-Insecure-Requests: 1',
  'Connection: keep-alive',
];
const curl = ['Accept: */*', 'Connection: close'];
const firefoxPage = '<meta http-equiv="refresh" content="0;url=https://support.mozilla.org/kb/captive-portal"/>';

const probe = (platform: string, host: string, path: string, headers: readonly string[], decide: Decider): Probe => ({
  platform,
  host,
  path,
  headers,
  decide,
});

export const probes: readonly Probe[] = [
  probe('iOS', 'captive.apple.com', '/hotspot-detect.html', [apple, 'Accept: */*', 'Connection: close'], judge.apple),
  probe('iOS', 'www.apple.com', '/library/test/success.html', [apple, 'Accept: */*', 'Connection: close'], judge.apple),
  probe('iOS before 7', 'www.ibook.info', '/library/test/success.html', [apple, 'Connection: close'], judge.apple),
  probe(
    'macOS',
    'captive.apple.com',
    '/hotspot-detect.html',
    ['User-Agent: CaptiveNetworkSupport-503.120.1 wispr'],
    judge.apple,
  ),
  probe(
    'macOS',
    'www.apple.com',
    '/library/test/success.html',
    ['User-Agent: CaptiveNetworkSupport-503.120.1 wispr'],
    judge.apple,
  ),
  probe('Android', 'connectivitycheck.gstatic.com', '/generate_204', android, judge.android),
  probe('Android', 'www.google.com', '/gen_204', android, judge.android),
  probe('Android', 'play.googleapis.com', '/generate_204', android, judge.android),
  probe('Android', 'clients3.google.com', '/generate_204', android, judge.android),
  probe(
    'Android, no private addresses',
    'connectivitycheck.gstatic.com',
    '/generate_204',
    android,
    judge.androidWithoutPrivate,
  ),
  probe('Android, no private addresses', 'www.google.com', '/gen_204', android, judge.androidWithoutPrivate),
  probe(
    'Android 5',
    'clients3.google.com',
    '/generate_204',
    ['User-Agent: Dalvik/2.1.0 (Linux; U; Android 5.1)'],
    judge.android,
  ),
  probe('Samsung', 'connectivitycheck.gstatic.com', '/generate_204', dalvik, judge.androidWithoutPrivate),
  probe('Samsung in China', 'connectivity.samsung.com.cn', '/generate_204', dalvik, judge.androidWithoutPrivate),
  probe('Xiaomi', 'connect.rom.miui.com', '/generate_204', dalvik, judge.androidWithoutPrivate),
  probe('Xiaomi', 'www.qualcomm.cn', '/generate_204', dalvik, judge.androidWithoutPrivate),
  probe('Huawei', 'connectivitycheck.platform.hicloud.com', '/generate_204', dalvik, judge.androidWithoutPrivate),
  probe('Huawei', 'connectivitycheck.cbg-app.huawei.com', '/generate_204', dalvik, judge.androidWithoutPrivate),
  probe('Windows', 'www.msftconnecttest.com', '/connecttest.txt', ncsi, judge.windows('Microsoft Connect Test')),
  probe('Windows', 'ipv6.msftconnecttest.com', '/connecttest.txt', ncsi, judge.windows('Microsoft Connect Test')),
  probe('Windows before 10', 'www.msftncsi.com', '/ncsi.txt', ncsi, judge.windows('Microsoft NCSI')),
  probe('Windows opens', 'www.msftconnecttest.com', '/redirect', visit, judge.browser),
  probe('Chrome OS', 'www.gstatic.com', '/generate_204', chrome, judge.chromeOs),
  probe('Chrome OS', 'connectivitycheck.gstatic.com', '/generate_204', chrome, judge.chromeOs),
  probe('Chrome', 'www.gstatic.com', '/generate_204', [...chrome, 'Accept: */*'], judge.chromeOs),
  probe('Firefox', 'detectportal.firefox.com', '/canonical.html', firefox, judge.firefox(firefoxPage)),
  probe('Firefox', 'detectportal.firefox.com', '/success.txt?ipv4', firefox, judge.firefox('success')),
  probe('NetworkManager of Fedora', 'fedoraproject.org', '/static/hotspot.txt', curl, judge.networkManager('OK')),
  probe(
    'NetworkManager of Debian',
    'network-test.debian.org',
    '/nm',
    curl,
    judge.networkManager('NetworkManager is online'),
  ),
  probe('NetworkManager of Ubuntu', 'connectivity-check.ubuntu.com', '/', curl, judge.networkManager('')),
  probe(
    'GNOME',
    'nmcheck.gnome.org',
    '/check_network_status.txt',
    curl,
    judge.networkManager('NetworkManager is online'),
  ),
  probe('GNOME opens', 'nmcheck.gnome.org', '/', visit, judge.browser),
  probe(
    'Kindle',
    'spectrum.s3.amazonaws.com',
    '/kindle-wifi/wifistub.html',
    ['User-Agent: kindle', 'Accept: */*'],
    judge.kindle,
  ),
  probe('a person', 'example.org', '/some/page?with=query', visit, judge.browser),
];
