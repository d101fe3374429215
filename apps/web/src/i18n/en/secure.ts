/** The page that makes a phone or computer trust the station. */
export const secure = {
  title: 'Encrypted connection',
  checking: 'Checking this connection',
  on: 'This connection is encrypted. Others in your network cannot read it.',
  other: 'To set up another device, open {{address}} on it.',
  possible:
    'This connection is not encrypted: others in your network could read it. Three steps change that, once for each device.',
  off: 'Encryption is turned off on this station. An administrator can turn it on in the settings file of the station.',
  fault: 'The station does not answer, so the connection could not be checked.',
  device: 'Your device',
  devices: {
    iphone: 'iPhone or iPad',
    android: 'Android',
    windows: 'Windows',
    mac: 'Mac',
    linux: 'Linux',
    firefox: 'Firefox on a computer',
  },
  download: { title: 'Download the certificate of this station', link: 'Download' },
  install: {
    title: 'Install it',
    iphone:
      'Open this page in Safari to download. Then Settings → Profile Downloaded → Install. Last, Settings → General → About → Certificate Trust Settings: turn on the one named Station.',
    android:
      'Settings → Security and privacy → More security settings → Encryption and credentials → Install a certificate → CA certificate → Install anyway. Choose the file ca.crt. Where a menu has another name, search the settings for “CA certificate”.',
    windows:
      'Open the file ca.crt → Install Certificate → Current User → Place all certificates in the following store → Trusted Root Certification Authorities → Finish, and confirm the warning with Yes. Then restart the browser.',
    mac: 'Open the file ca.crt, and add it to Keychain Access. Double-click the one named Station there, and under Trust choose Always Trust.',
    linux:
      'In Chrome: Settings → Privacy and security → Security → Manage certificates → Custom → Trusted Certificates → Import, and choose ca.crt.',
    firefox:
      'Settings → Privacy & Security → Certificates → View Certificates → Authorities → Import. Choose ca.crt, and let it identify websites.',
  },
  open: {
    title: 'Open the encrypted page',
    link: 'Check and open',
    busy: 'Checking',
    untrusted: 'This browser does not trust the certificate yet. Check step 2; some browsers need a restart.',
    bookmark: 'Bookmark {{address}}. From then on this device goes there automatically.',
    typed: 'The address begins with https:// and ends with the port that the installer printed.',
  },
  harmless:
    'The certificate is for this station only. It is valid for addresses in a home network, and for no website.',
  row: { on: 'This connection is encrypted', off: 'This connection is not encrypted' },
} as const;
