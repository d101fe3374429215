import type { Texts } from './portal-texts.ts';

export const en: Texts = {
  language: 'en',
  title: 'Connect the station to Wi-Fi',
  product: 'Station',
  languageSwitch: 'Language',
  intro:
    'Your phone is connected to {hotspot}, the station’s own network. Choose the network that the station should use.',
  networks: 'Networks in reach',
  search: 'Search again',
  noNetworks: 'No network was found. Move the station nearer to your router and search again, or type the name below.',
  moreNetworks: 'Weaker networks are not listed. Choose “Another network” and type the name.',
  signal: { strong: 'Strong signal', good: 'Good signal', fair: 'Fair signal', weak: 'Weak signal' },
  security: {
    open: 'no password',
    owe: 'no password',
    wep: 'WEP: too old, cannot be used',
    wpa2: 'password',
    wpa3: 'password (WPA3)',
    'wpa2-wpa3': 'password',
    enterprise: 'company login: cannot be used',
  },
  known: 'saved',
  outOfReach: 'Not in reach at the moment',
  other: 'Another network',
  otherHint: 'One that does not show its name',
  name: 'Name of the network',
  nameHint: 'Exactly as it is spelled: capital letters and spaces count.',
  otherSecurity: 'Security',
  otherSecurities: {
    auto: 'With a password',
    wpa2: 'With a password, WPA2 only',
    wpa3: 'With a password, WPA3 only',
    open: 'Without a password',
    owe: 'Without a password, encrypted (OWE)',
  },
  password: 'Password of the network',
  passwordHint: 'Often on a sticker on the router. Not needed for a network without a password.',
  passwordAgain: 'Type the password again.',
  show: 'Show',
  hide: 'Hide',
  showWithoutScript: 'Show the password while I type',
  openHotspot:
    'This hotspot has no password, so it is not encrypted: others nearby can read what you type here, also the password of your network.',
  confirm: 'I know that others nearby can read what I send.',
  code: 'Station code',
  codeHint:
    'It is on the label of the station, and the installer printed it. On the station, “station-agent code” shows it.',
  join: 'Connect the station',
  searching: {
    title: 'Searching for networks',
    text: 'This takes up to 15 seconds. Your phone stays connected; the list appears automatically.',
    link: 'Show the list',
  },
  trying: {
    title: 'The station is connecting to {name}',
    waiting: 'Keep this page open.',
    goesAway: 'The network {hotspot} goes away now. Your phone says so; this is normal.',
    works: 'If it works, connect your phone to your home network. You find the station at this address:',
    fails:
      'If it does not work, {hotspot} is back in about a minute. Connect your phone to it again: the page says why.',
    look: 'See how it went',
    busy: 'The station was already trying this network. Wait for the outcome first.',
  },
  failures: {
    wrong_password: {
      title: 'The password of {name} is probably wrong',
      help: 'The router did not accept it. Type it again; capital letters count.',
    },
    not_found: {
      title: '{name} was not found',
      help: 'Check that the router is on and near enough, and the spelling if you typed the name. Then try again.',
    },
    no_address: {
      title: '{name} gave the station no address',
      help: 'The station was let in, but the router gave it no address (DHCP). Restart the router and try again.',
    },
    no_gateway: {
      title: 'Nothing answers in {name}',
      help: 'The station was connected and got an address, but the router did not answer. Restart the router and try again.',
    },
    unsupported: {
      title: 'The station cannot use {name}',
      help: 'Its kind of security does not work with this station. Set the router to WPA2, or choose another network.',
    },
    refused: {
      title: '{name} turned the station away',
      help: 'The router may let in only known devices, or have no room for more. Look at its settings and try again.',
    },
    timed_out: {
      title: '{name} did not answer in time',
      help: 'The signal may be too weak, or the password wrong. Move the station nearer to the router and type the password again.',
    },
    failed: {
      title: 'The station could not connect to {name}',
      help: 'Check the password and try again. If that does not help, switch the station off and on.',
    },
  },
  problems: {
    form_unreadable: { title: 'The form could not be read', help: 'Choose the network and type the password again.' },
    no_network: { title: 'No network is chosen', help: 'Choose one from the list, or “Another network”.' },
    name_missing: { title: 'The name of the network is missing', help: 'Type it below “Another network”.' },
    name_too_long: {
      title: 'The name of the network is too long',
      help: 'A name has at most 32 bytes: 32 Latin letters, or 16 Cyrillic ones.',
    },
    password_missing: { title: 'The password is missing', help: 'This network asks for one. Type it below.' },
    password_length: {
      title: 'The password cannot be right',
      help: 'A password of this network has 8 to 63 characters; letters beyond the Latin ones count twice. Look at it again.',
    },
    password_characters: {
      title: 'The password cannot be right',
      help: 'It contains a character that no Wi-Fi takes, such as a tab. Was it pasted?',
    },
    password_too_long: { title: 'The password is too long', help: 'At most 128 bytes. Look at it again.' },
    enterprise: {
      title: 'This network cannot be used',
      help: 'It asks each person for a name and a password (802.1X). Choose a network with one password for all.',
    },
    wep: {
      title: 'This network cannot be used',
      help: 'Its security (WEP) is broken and no longer supported. Set the router to WPA2 or WPA3.',
    },
    code_missing: {
      title: 'The station code is missing',
      help: 'This station was in a network before, so it asks for its code. Type the code below and the password again.',
    },
    code_wrong: {
      title: 'The station code is wrong',
      help: 'Look at the label and type it again, and the password too. Tries left: {left}.',
    },
    code_closed: {
      title: 'Too many wrong codes',
      help: 'The station accepts the next code in {minutes} min. Switching it off and on does not help. Until then you can also connect it by cable.',
    },
    not_confirmed: {
      title: 'Your confirmation is missing',
      help: 'Others nearby can read what you send here. Tick the box above the button if you want that, and type the password again.',
    },
  },
  leaving: {
    title: 'The station is connecting automatically',
    help: 'A network that it knows is back, or a cable was plugged in. If this page is still here in a minute, or comes back, choose your network again.',
  },
  refused: {
    too_large: { title: 'That was too much', help: 'The form is larger than the station takes. Fill it in again.' },
    origin: {
      title: 'This form came from another site',
      help: 'Only the station’s own page can be used. Open {address} in the browser of your phone and fill in the form there.',
    },
    content_type: { title: 'The form could not be read', help: 'Use the station’s own page.' },
    broken: { title: 'Something went wrong in the station', help: 'Try again in a moment.' },
  },
  back: 'To the start page',
};
