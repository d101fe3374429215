/** Devices of other systems, through a gateway. */
export const gateways = {
  title: 'Other systems',
  lead: 'Zigbee devices come through a Zigbee2MQTT in your network, Tasmota, Shelly and ESPHome devices by themselves. They are shown, switched and automated like all others.',
  fault: 'The connections could not be read',
  heard: {
    title: 'Heard and not connected',
    help: 'Recognised by its topic alone. Connect only what is yours.',
    refused:
      'tried to log in {{time}}, as {{topic}}, and was refused. It needs a login that you create here and enter there.',
    published: 'seen at your broker {{time}}, as {{topic}}',
    connect: 'Connect it',
  },
  connect: 'Connect a system',
  connectAnother: 'Connect another system',
  system: 'System',
  name: 'Name',
  baseTopic: 'Base topic',
  discoveryPrefix: 'Discovery prefix',
  discoveryHelp:
    'Where devices announce themselves. Another one when the station is shown to Home Assistant, which uses “homeassistant”.',
  make: 'Create its login',
  systems: {
    zigbee2mqtt: {
      topic: 'As in its own settings. Letters, digits, -, _ and /.',
      sheet: 'Enter these values in the settings of Zigbee2MQTT, section “mqtt”.',
      limits: 'The station takes the list of about 40 devices; with more, its usual broker ends the connection.',
    },
    tasmota: {
      topic: 'Leave “tasmota”: devices announce themselves below it, and use tele, stat and cmnd besides.',
      sheet:
        'On the page of each device: Configuration → Configure MQTT. Host and port are parts of the server’s address; leave the base topic out. All devices use this login.',
      limits:
        'Each device needs a Topic of its own, the FullTopic %prefix%/%topic%/, and SetOption19 0 (the default). Presses of buttons come with SetOption73 1.',
    },
    shelly: {
      topic: 'Each device gets an MQTT prefix below it, such as shelly/boiler. Letters, digits, -, _ and /.',
      sheet:
        'On the page of each device: Settings → MQTT. Server without mqtt://, client id as it is, MQTT prefix: the base topic, a slash and a name of its own. “RPC status notifications” stays on. All devices use this login.',
      limits:
        'Gen2 and later, with MQTT. The first generation is a system of its own. A device that sleeps appears when it wakes.',
    },
    shelly_gen1: {
      topic: 'Leave “shellies”: devices of this generation know no other one.',
      sheet:
        'On the page of each device: Internet & Security → Advanced – Developer settings → Enable MQTT. Server without mqtt://; leave the base topic out. All devices use this login.',
      limits:
        'A device appears with what it publishes. MQTT and the cloud of Shelly exclude each other. Of thermostats it takes the radiator valve.',
    },
    home_assistant: {
      topic: 'Each device gets a topic prefix below it, such as esphome/kitchen. Letters, digits, -, _ and /.',
      sheet:
        'In the YAML of each device, section “mqtt”: broker and port from the server’s address, username and password, discovery_prefix, and as topic_prefix the base topic, a slash and a name of its own. All devices use this login.',
      limits:
        'ESPHome and others that announce themselves to Home Assistant. Values with a template that computes are not taken. Topics outside of the two trees are not either.',
    },
  },
  states: { waiting: 'Not heard yet', online: 'Connected', offline: 'Offline' },
  devices_one: '{{count}} device',
  devices_other: '{{count}} devices',
  notSupported: 'Not supported: {{number}}',
  notSupportedMore: 'and {{number}} more',
  refusals: {
    template: 'has a template: its value would have to be computed',
    kind: 'a part that the station does not know',
    outside: 'uses topics outside of this system’s own',
    incomplete: 'says too little about itself, or has a name that is not possible here',
    group: 'a group whose members have nothing in common, or are not known',
    elsewhere: 'comes through another system already',
    no_room: 'no room: there are too many already',
    too_large: 'its message is too large',
  },
  renew: 'New password',
  renewTitle: 'New password for {{name}}?',
  renewHelp: 'The present one ends at once. The gateway is offline until the new one is entered there.',
  remove: 'Disconnect',
  removeTitle: 'Disconnect {{name}}?',
  removeHelp_one: 'Its device leaves the station, with its history.',
  removeHelp_other: 'Its {{count}} devices leave the station, with their history.',
  sheet: 'Login for {{name}}',
  sheetHelp: 'The password is shown only now. Devices appear a few seconds later.',
  notMade:
    'Another system manages the logins of your broker. Create this login there, for the topics of this system and everything below them.',
} as const;
