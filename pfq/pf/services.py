"""The services and protocols that rulesets name, as the two systems list them: facts of services(5) and protocols(5).

Only commonly used entries: a `--system` file adds what a site needs. One word an entry: `name:port` for TCP and UDP both,
`name:port/t` or `/u` for one of them, further names behind commas. Where a port has two names the first is printed.
"""

_OPENBSD = """
tcpmux:1/t echo:7 discard,sink,null:9 systat,users:11/t daytime:13 netstat:15/t qotd,quote:17/t msp:18
chargen,ttytst,source:19 ftp-data:20/t ftp:21/t ssh:22 telnet:23/t smtp,mail:25/t time,timserver:37
rlp,resource:39/u nameserver,name:42/t whois,nicname:43/t tacacs:49 re-mail-ck:50 domain,nameserver:53
bootps:67 bootpc:68 tftp:69/u gopher:70 rje,netrjs:77/t finger:79/t www,http:80 link,ttylink:87/t
kerberos,kerberos5,kerberos-sec:88 supdup:95/t hostnames,hostname:101/t iso-tsap,tsap:102/t csnet-ns,cso-ns:105
rtelnet:107 pop2,postoffice:109 pop3:110 sunrpc,portmapper,rpcbind:111 auth,tap,ident,authentication:113/t
sftp:115/t uucp-path:117/t nntp,readnews,untp:119/t ntp:123 loc-srv,epmap:135 netbios-ns:137 netbios-dgm:138
netbios-ssn:139 imap,imap2:143 snmp:161 snmp-trap,snmptrap:162 cmip-man:163 cmip-agent:164 xdmcp:177
nextstep,NeXTStep,NextStep:178 bgp:179 prospero:191 irc:194 smux:199 at-rtmp:201 at-nbp:202 at-echo:204 at-zis:206
qmtp:209 z3950,wais:210 ipx:213 imap3:220 ldap:389 svrloc:427 https:443 snpp:444 microsoft-ds:445 kpasswd:464
photuris:468 saft:487 isakmp:500 rwhois,rwhoisd:4321/t exec:512/t biff,comsat:512/u login:513/t who,whod:513/u
shell,cmd:514/t syslog:514/u printer,spooler:515/t talk:517/u ntalk:518/u route,router,routed:520/u
timed,timeserver:525/u tempo,newdate:526/t courier,rpc:530/t conference,chat:531/t netnews,readnews:532/t
netwall:533/u uucp,uucpd:540/t uucp-rlogin:541 klogin:543/t kshell,krcmd:544/t rtsp:554 remotefs,rfs_server,rfs:556/t
rmonitor,rmonitord:560/u monitor:561/u nntps,snntp:563 submission:587 ldp:646 ldaps:636 iscsi:860 rsync:873
ftps-data:989 ftps:990 telnets:992 imaps:993 ircs:994 pop3s:995 submissions,smtps:465/t kerberos-adm:749
rfile:750/t socks:1080 openvpn:1194 ms-sql-s:1433 ms-sql-m:1434 l2tp:1701 pptp:1723/t radius:1812
radius-acct,radacct:1813 hsrp:1985/u nfsd,nfs:2049 zephyr-srv:2102/u cvspserver:2401/t mysql:3306/t icb:7326 rfb:5900
postgresql:5432 sip:5060 sips:5061 x11:6000/t hunt:26740/u ircd:6667/t bacula-dir:9101 bacula-fd:9102
bacula-sd:9103 git:9418/t spamd:8025/t spamd-sync:8025/u spamd-cfg:8026/t hostapd:9234/u
vxlan:4789/u svn,subversion:3690/t mdns:5353/u iperf3:5201/t http-alt:8008 ipsec-nat-t,ipsec-msft:4500/u
amanda:10080 amandaidx:10082/t amidxtape:10083/t webster:765 xmpp-client:5222/t xmpp-server:5269/t gnutella:6346
distcc:3632/t dhcpv6-client:546/u dhcpv6-server:547/u dhcpd-sync:8067/u carp:112 gre:47
"""

# Ports that OpenBSD 4.4 has no name for, though later releases have.
_OPENBSD_LATER = frozenset(
    "carp gre ircd http-alt submissions vxlan iperf3 mdns svn submission photuris openvpn iscsi ldp".split()  # noqa: SIM905
)

_FREEBSD = """
tcpmux:1 compressnet:2 compressnet:3 rje:5 echo:7 discard,sink,null:9 systat,users:11 daytime:13 qotd,quote:17 msp:18
chargen,ttytst,source:19 ftp-data:20 ftp:21 ssh:22 telnet:23 smtp,mail:25 nsw-fe:27 msg-icp:29 msg-auth:31 dsp:33
time,timserver:37 rap:38 rlp,resource:39 graphics:41 nameserver,name:42 nicname,whois:43 mpm-flags:44 mpm:45
mpm-snd:46 ni-ftp:47 auditd:48 tacacs:49 re-mail-ck:50 la-maint:51 xns-time:52 domain:53 xns-ch:54 isi-gl:55
xns-auth:56 xns-mail:58 ni-mail:61 acas:62 whois++:63 covia:64 tacacs-ds:65 sql*net:66 bootps,dhcps:67
bootpc,dhcpc:68 tftp:69 gopher:70 netrjs-1:71 netrjs-2:72 netrjs-3:73 netrjs-4:74 deos:76 vettcp:78 finger:79
http,www,www-http:80 hosts2-ns:81 xfer:82 mit-ml-dev:83 ctf:84 mit-ml-dev:85 mfcobol:86 kerberos-sec,kerberos:88
su-mit-tg:89 dnsix:90 mit-dov:91 npp:92 dcp:93 objcall:94 supdup:95 dixie:96 swift-rvf:97 tacnews:98 metagram:99
newacct:100/t hostname,hostnames:101 iso-tsap,tsap:102 gppitnp:103 acr-nema:104 csnet-ns,cso-ns,cso:105 pop3pw:106/t
3com-tsmux:106/u rtelnet:107 snagas:108 pop2,postoffice:109 pop3:110 sunrpc,rpcbind:111 mcidas:112
auth,ident,tap:113 audionews:114 sftp:115 ansanotify:116 uucp-path:117 sqlserv:118 nntp,usenet:119 cfdptkt:120
erpc:121 smakynet:122 ntp:123 ansatrader:124 locus-map:125 unitary:126 locus-con:127 gss-xlicen:128 pwdgen:129
cisco-fna:130 cisco-tna:131 cisco-sys:132 statsrv:133 ingres-net:134 loc-srv,epmap:135 profile:136 netbios-ns:137
netbios-dgm:138 netbios-ssn:139 emfis-data:140 emfis-cntl:141 bl-idm:142 imap,imap2,imap4:143 NeWS:144 uaac:145
iso-tp0:146 iso-ip:147 cronus:148 aed-512:149 sql-net:150 hems:151 bftp:152 sgmp:153 netsc-prod:154 netsc-dev:155
sqlsrv:156 knet-cmp:157 pcmail-srv:158 nss-routing:159 sgmp-traps:160 snmp:161 snmptrap,snmp-trap:162 cmip-man:163
cmip-agent:164/t smip-agent:164/u xns-courier:165 s-net:166 namp:167 rsvd:168 send:169 print-srv:170 multiplex:171
cl/1:172 xyplex-mux:173 mailq:174 vmnet:175 genrad-mux:176 xdmcp:177 NextStep:178 bgp:179 ris:180 unify:181 audit:182
ocbinder:183 ocserver:184 remote-kis:185 kis:186 aci:187 mumps:188 qft:189 gacp:190 prospero:191 osu-nms:192 srmp:193
irc:194 dn6-nlm-aud:195 dn6-smm-red:196 dls:197 dls-mon:198 smux:199 src:200 at-rtmp:201 at-nbp:202 at-3:203
at-echo:204 at-5:205 at-zis:206 at-7:207 at-8:208 qmtp:209 z39.50,wais:210 914c/g:211 anet:212 ipx:213 vmpwscs:214
softpc:215 atls:216 dbase:217 mpp:218 uarps:219 imap3:220 fln-spx:221 rsh-spx:222 cdc:223 direct:242 sur-meas:243
dayna:244 link:245 dsp3270:246 bh-fhs:248 rap:256 set:257 yak-chat:258 esro-gen:259 openport:260 nsiiops:261
arcisdms:262 hdap:263 bgmp:264 http-mgmt:280 personal-link:281 pip:321 ptp-event:319 ptp-general:320
mptn:397 ldap:389 svrloc:427 mobileip-agent:434 https:443 snpp:444 microsoft-ds:445 kpasswd5,kpasswd:464 smtps:465
photuris:468 pim-rp-disc:496 isakmp:500 exec:512/t biff,comsat:512/u login:513/t who,whod:513/u shell,cmd:514/t
syslog:514/u printer,spooler:515 talk:517 ntalk:518 utime,unixtime:519 efs:520/t router,route,routed:520/u
ripng:521 timed,timeserver:525 tempo,newdate:526 courier,rpc:530 conference,chat:531 netnews,readnews:532
netwall:533 uucp,uucpd:540 uucp-rlogin:541 klogin:543 kshell,krcmd:544 dhcpv6-client:546 dhcpv6-server:547 rtsp:554
remotefs,rfs_server,rfs:556 rmonitor,rmonitord:560 monitor:561 nntps,snntp:563 submission:587 ldaps:636 ldp:646
rsync:873 ftps-data:989 ftps:990 nas:991 telnets:992 imaps:993 ircs:994 pop3s:995 socks:1080
kerberos-adm:749 kerberos-iv,kdc:750 webster:765 openvpn:1194 ms-sql-s:1433 ms-sql-m:1434 ica:1494 l2tp,l2f:1701
pptp:1723 radius:1812 radacct:1813 hsrp:1985 nfsd,nfs:2049 cvspserver:2401 tacacs:49 mysql:3306 svn:3690
ms-wbt-server:3389 ipsec-nat-t:4500 rwhois:4321 sip:5060 sips:5061 xmpp-client:5222 xmpp-server:5269 mdns:5353
postgresql:5432 rfb,vnc:5900/t x11:6000 ircd:6667/t gnutella-svc:6346 font-service:7100 http-alt:8008 bacula-dir:9101
bacula-fd:9102 bacula-sd:9103 git:9418 amanda:10080 amandaidx:10082/t amidxtape:10083/t webcache:8081 syslog-conn:601
rndc:953 zabbix-agent:10050 zabbix-trapper:10051 vxlan:4789 iscsi-target:3260 sunproxyadmin:8081 search-agent:1234/x
"""

_PROTOCOLS = """
ip:0 icmp:1 igmp:2 ggp:3 ipencap:4 st2:5 tcp:6 cbt:7 egp:8 igp:9 nvp:11 pup:12 udp:17 mux:18 hmp:20 xns-idp:22
rdp:27 iso-tp4:29 dccp:33 ipv6:41 ipv6-route:43 ipv6-frag:44 idrp:45 rsvp:46 gre:47 esp:50 ah:51 skip:57
ipv6-nonxt:59 ipv6-opts:60 vines:83 eigrp:88 ospf:89 mtp:92 ax.25:93 ipip:94 etherip:97 encap:98 pim:103
ipcomp:108 vrrp:112 l2tp:115 isis:124 sctp:132 mobility-header:135 udplite:136 mpls-in-ip:137 pfsync:240
"""

# The names a system has for the same number that differ, and its aliases. ICMPv6 is what rulesets use most.
_OPENBSD_PROTOCOLS = "ipv6-icmp,icmp6,icmpv6:58 carp:112"
_FREEBSD_PROTOCOLS = "ipv6-icmp,icmp6,icmpv6:58 carp,vrrp:112 divert:258"


class Services:
    """Ports by name, and names by port, for TCP and UDP apart."""

    def __init__(self, family: str, old: bool) -> None:
        self._numbers: tuple[dict[str, int], dict[str, int]] = ({}, {})
        self._names: tuple[dict[int, str], dict[int, str]] = ({}, {})
        for entry in (_OPENBSD if family == "openbsd" else _FREEBSD).split():
            names, _, port = entry.rpartition(":")
            number, _, kind = port.partition("/")
            first, *others = names.split(",")
            if kind == "x" or (old and family == "openbsd" and first in _OPENBSD_LATER):
                continue
            for which in (0, 1):
                if kind != ("u" if which == 0 else "t"):
                    self.add([first, *others], int(number), which)

    def add(self, names: list[str], port: int, which: int) -> None:
        """Add an entry for TCP (`which` 0) or UDP (1); an entry that is there already stays."""
        for name in names:
            self._numbers[which].setdefault(name, port)
        self._names[which].setdefault(port, names[0])

    def port(self, name: str) -> int | None:
        """The port of a service, TCP first; None when it is unknown."""
        number = self._numbers[0].get(name)
        return self._numbers[1].get(name) if number is None else number

    def name(self, port: int, tcp: bool) -> str | None:
        """The printed name of a port, or None."""
        return self._names[0 if tcp else 1].get(port)


class Protocols:
    """IP protocol numbers by name, and the printed name of a number."""

    def __init__(self, family: str) -> None:
        self.numbers: dict[str, int] = {}
        self.names: dict[int, str] = {}
        extra = _OPENBSD_PROTOCOLS if family == "openbsd" else _FREEBSD_PROTOCOLS
        for entry in (extra + _PROTOCOLS).split():
            names, _, number = entry.partition(":")
            for name in names.split(","):
                self.numbers.setdefault(name, int(number))
                self.numbers.setdefault(name.upper(), int(number))
            self.names.setdefault(int(number), names.split(",")[0])
